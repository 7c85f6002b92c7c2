// Measures lengths and areas on the sphere, and formats them and positions for display.

import type { Geometry, Position } from "geojson";
import { formatNumber, t } from "../messages";

/** Mean radius of the Earth in meters. */
const RADIUS = 6_371_008.8;
const RADIANS = Math.PI / 180;

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

/** The great-circle distance, by the haversine formula. */
function distance([lon0 = 0, lat0 = 0]: Position, [lon1 = 0, lat1 = 0]: Position): number {
  const [a, b] = [lat0 * RADIANS, lat1 * RADIANS];
  const half = Math.sin((b - a) / 2) ** 2;
  const across = Math.cos(a) * Math.cos(b) * Math.sin(((lon1 - lon0) * RADIANS) / 2) ** 2;
  return 2 * RADIUS * Math.asin(Math.min(1, Math.sqrt(half + across)));
}

/** The area of a ring on the sphere. Its sign depends on the direction of the ring. */
function ringArea(ring: Position[]): number {
  let sum = 0;
  for (let index = 0; index + 1 < ring.length; index += 1) {
    const [[lon0 = 0, lat0 = 0], [lon1 = 0, lat1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
    sum += (lon1 - lon0) * RADIANS * (2 + Math.sin(lat0 * RADIANS) + Math.sin(lat1 * RADIANS));
  }
  return (sum * RADIUS * RADIUS) / 2;
}
