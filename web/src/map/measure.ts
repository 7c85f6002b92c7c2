// Measures lengths and areas, and formats them and positions for display.

import type { Geometry, Position } from "geojson";
import { formatNumber, t } from "../messages";
import { distance, ringArea } from "./geodesy";

/** In meters and square meters. The length of a polygon is the length of its outer ring. */
export interface Size {
  length: number;
  area: number;
}

export function measure(geometry: Geometry): Size {
  switch (geometry.type) {
    case "LineString":
      return { length: lineLength(geometry.coordinates), area: 0 };
    case "MultiLineString":
      return sum(geometry.coordinates.map((line) => ({ length: lineLength(line), area: 0 })));
    case "Polygon":
      return polygonSize(geometry.coordinates);
    case "MultiPolygon":
      return sum(geometry.coordinates.map(polygonSize));
    case "GeometryCollection":
      return sum(geometry.geometries.map(measure));
    default:
      return { length: 0, area: 0 };
  }
}

export function formatLength(meters: number): string {
  if (meters < 1000) return t("script-map-unit-m", { value: formatNumber(meters, meters < 100 ? 2 : 1) });
  return t("script-map-unit-km", { value: formatNumber(meters / 1000, 2) });
}

export function formatArea(squareMeters: number): string {
  if (squareMeters < 10_000) {
    const value = formatNumber(squareMeters, squareMeters < 100 ? 1 : 0);
    return t("script-map-unit-m2", { value });
  }
  if (squareMeters < 1e8) return t("script-map-unit-ha", { value: formatNumber(squareMeters / 1e4, 2) });
  return t("script-map-unit-km2", { value: formatNumber(squareMeters / 1e6, 1) });
}

/** Formats a geometry's area and perimeter, or its length. Returns "" for points. */
export function formatSize(geometry: Geometry): string {
  const { length, area } = measure(geometry);
  if (area > 0)
    return t("script-map-area-and-perimeter", { area: formatArea(area), perimeter: formatLength(length) });
  return length > 0 ? formatLength(length) : "";
}

export function formatPosition([longitude = 0, latitude = 0]: Position, decimals: number): string {
  const wrapped = ((((longitude + 180) % 360) + 360) % 360) - 180;
  const y = { value: Math.abs(latitude).toFixed(decimals) };
  const x = { value: Math.abs(wrapped).toFixed(decimals) };
  const northing = latitude < 0 ? t("script-map-latitude-south", y) : t("script-map-latitude-north", y);
  const easting = wrapped < 0 ? t("script-map-longitude-west", x) : t("script-map-longitude-east", x);
  return `${northing}  ${easting}`;
}

function sum(sizes: Size[]): Size {
  const total = { length: 0, area: 0 };
  for (const { length, area } of sizes) {
    total.length += length;
    total.area += area;
  }
  return total;
}

function polygonSize(rings: Position[][]): Size {
  const [outer, ...holes] = rings;
  if (!outer) return { length: 0, area: 0 };
  const area = holes.reduce((left, hole) => left - Math.abs(ringArea(hole)), Math.abs(ringArea(outer)));
  return { length: lineLength(outer), area };
}

function lineLength(line: Position[]): number {
  let length = 0;
  for (let index = 0; index + 1 < line.length; index += 1)
    length += distance(line[index] ?? [], line[index + 1] ?? []);
  return length;
}
