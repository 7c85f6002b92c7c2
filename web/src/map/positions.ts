import type { Geometry, Position } from "geojson";

/** The precision of drawn positions in decimals of a degree: about a tenth of a millimeter. */
export const DECIMALS = 9;

/** Rounds longitude and latitude, and drops the elevation. */
export function roundPosition(position: Position): Position {
  return position.slice(0, 2).map((value) => Number(value.toFixed(DECIMALS)));
}

export function forEachPosition(geometry: Geometry, callback: (position: Position) => void): void {
  if (geometry.type === "GeometryCollection") {
    for (const part of geometry.geometries) forEachPosition(part, callback);
    return;
  }
  const walk = (coordinates: unknown): void => {
    if (!Array.isArray(coordinates)) return;
    if (typeof coordinates[0] === "number") callback(coordinates as Position);
    else coordinates.forEach(walk);
  };
  walk(geometry.coordinates);
}
