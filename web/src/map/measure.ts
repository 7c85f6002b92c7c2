// Lengths and areas on the sphere, and positions, as a surveyor would write them.

import type { Geometry, Position } from "geojson";

const RADIUS = 6_371_008.8;
const RADIANS = Math.PI / 180;

export interface Measured {
  length: number;
  area: number;
}

export function measure(geometry: Geometry): Measured {
  const all = { length: 0, area: 0 };
  const add = ({ length, area }: Measured) => {
    all.length += length;
    all.area += area;
  };
  switch (geometry.type) {
    case "LineString":
      all.length = lengthOf(geometry.coordinates);
      break;
    case "MultiLineString":
      for (const line of geometry.coordinates) all.length += lengthOf(line);
      break;
    case "Polygon":
      add(polygon(geometry.coordinates));
      break;
    case "MultiPolygon":
      for (const part of geometry.coordinates) add(polygon(part));
      break;
    case "GeometryCollection":
      for (const part of geometry.geometries) add(measure(part));
      break;
    default:
  }
  return all;
}

export function lengthText(meters: number): string {
  if (meters < 1000) return `${figure(meters, meters < 100 ? 2 : 1)} m`;
  return `${figure(meters / 1000, 2)} km`;
}

export function areaText(squareMeters: number): string {
  if (squareMeters < 10_000) return `${figure(squareMeters, squareMeters < 100 ? 1 : 0)} m²`;
  if (squareMeters < 1e8) return `${figure(squareMeters / 1e4, 2)} ha`;
  return `${figure(squareMeters / 1e6, 1)} km²`;
}

/** «1.84 ha, 560 m around» or «560 m»; nothing for points. */
export function measuredText(geometry: Geometry): string {
  const { length, area } = measure(geometry);
  if (area > 0) return `${areaText(area)}, ${lengthText(length)} around`;
  return length > 0 ? lengthText(length) : "";
}

export function positionText([lon = 0, lat = 0]: Position, digits = 5): string {
  const wrapped = ((((lon + 180) % 360) + 360) % 360) - 180;
  const part = (value: number, [up, down]: [string, string]) =>
    `${Math.abs(value).toFixed(digits)} ${value < 0 ? down : up}`;
  return `${part(lat, ["N", "S"])}  ${part(wrapped, ["E", "W"])}`;
}

function figure(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function polygon(rings: Position[][]): Measured {
  const [outer, ...holes] = rings;
  if (!outer) return { length: 0, area: 0 };
  const area = holes.reduce((sum, hole) => sum - Math.abs(ringArea(hole)), Math.abs(ringArea(outer)));
  return { length: lengthOf(outer), area };
}

function lengthOf(line: Position[]): number {
  let sum = 0;
  for (let index = 0; index + 1 < line.length; index += 1)
    sum += distance(line[index] ?? [], line[index + 1] ?? []);
  return sum;
}

function distance([lon0 = 0, lat0 = 0]: Position, [lon1 = 0, lat1 = 0]: Position): number {
  const [a, b] = [lat0 * RADIANS, lat1 * RADIANS];
  const half = Math.sin((b - a) / 2) ** 2;
  const across = Math.cos(a) * Math.cos(b) * Math.sin(((lon1 - lon0) * RADIANS) / 2) ** 2;
  return 2 * RADIUS * Math.asin(Math.min(1, Math.sqrt(half + across)));
}

function ringArea(ring: Position[]): number {
  let sum = 0;
  for (let index = 0; index + 1 < ring.length; index += 1) {
    const [[lon0 = 0, lat0 = 0], [lon1 = 0, lat1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
    sum += (lon1 - lon0) * RADIANS * (2 + Math.sin(lat0 * RADIANS) + Math.sin(lat1 * RADIANS));
  }
  return (sum * RADIUS * RADIUS) / 2;
}
