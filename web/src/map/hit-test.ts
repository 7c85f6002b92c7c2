// Finds the vertex or the midpoint of a segment at a place in the window.

import type { Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { segments, vertices, type Sketch, type VertexPath } from "./sketch";

/** A place on the map in pixels, and how far from it something may be. */
export interface Place {
  x: number;
  y: number;
  reach: number;
}

export function isNear(map: MapLibre, position: Position, { x, y, reach }: Place): boolean {
  const [longitude = 0, latitude = 0] = position;
  const at = map.project([longitude, latitude]);
  return Math.hypot(at.x - x, at.y - y) <= reach;
}

/** The last vertex is on top. */
export function vertexAt(map: MapLibre, sketch: Sketch, place: Place): VertexPath | null {
  return vertices(sketch).findLast(({ position }) => isNear(map, position, place)) ?? null;
}

/** The path of the vertex that dragging the midpoint would insert. */
export function midpointAt(map: MapLibre, { type, parts }: Sketch, place: Place): VertexPath | null {
  for (const [part, rings] of parts.entries())
    for (const [ring, positions] of rings.entries())
      for (const [from, to] of segments(type, positions.length)) {
        const middle = midpoint(positions[from] ?? [], positions[to] ?? []);
        if (isNear(map, middle, place)) return { part, ring, index: from + 1 };
      }
  return null;
}

export function midpoint([x0 = 0, y0 = 0]: Position, [x1 = 0, y1 = 0]: Position): Position {
  return [(x0 + x1) / 2, (y0 + y1) / 2];
}
