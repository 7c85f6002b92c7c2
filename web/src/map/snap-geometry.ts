// Finds the vertex or edge nearest to a position.

import type { Geometry, Position } from "geojson";

export interface Snap {
  position: Position;
  kind: "vertex" | "edge";
}

/**
 * Finds the nearest vertex within the tolerance, or else the nearest point of an edge. `tolerance` is in
 * degrees of latitude.
 */
export function nearestSnap(lines: Position[][], target: Position, tolerance: number): Snap | null {
  const [x0 = 0, y0 = 0] = target;
  // Near the target, a degree of longitude is shorter than a degree of latitude by this factor.
  const scale = Math.cos((y0 * Math.PI) / 180);
  let vertex: Position | null = null;
  let edge: Position | null = null;
  let [vertexDistance, edgeDistance] = [tolerance, tolerance];
  for (const line of lines) {
    let previous: [number, number] | null = null;
    for (const position of line) {
      const [lon = 0, lat = 0] = position;
      const current: [number, number] = [(lon - x0) * scale, lat - y0];
      const distance = Math.hypot(...current);
      if (distance <= vertexDistance) [vertex, vertexDistance] = [position, distance];
      if (previous) {
        const [ax, ay] = previous;
        const [dx, dy] = [current[0] - ax, current[1] - ay];
        const length = dx * dx + dy * dy;
        const along = length === 0 ? 0 : Math.max(0, Math.min(1, -(ax * dx + ay * dy) / length));
        const [px, py] = [ax + along * dx, ay + along * dy];
        const toEdge = Math.hypot(px, py);
        if (toEdge <= edgeDistance) [edge, edgeDistance] = [[x0 + px / scale, y0 + py], toEdge];
      }
      previous = current;
    }
  }
  if (vertex) return { position: vertex.slice(0, 2), kind: "vertex" };
  return edge && { position: edge, kind: "edge" };
}

/** The points, lines and rings of a geometry. */
export function linesOf(geometry: Geometry): Position[][] {
  switch (geometry.type) {
    case "Point":
      return [[geometry.coordinates]];
    case "MultiPoint":
      return geometry.coordinates.map((position) => [position]);
    case "LineString":
      return [geometry.coordinates];
    case "MultiLineString":
    case "Polygon":
      return geometry.coordinates;
    case "MultiPolygon":
      return geometry.coordinates.flat();
    case "GeometryCollection":
      return geometry.geometries.flatMap(linesOf);
  }
}
