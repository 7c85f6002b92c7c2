// The shape that the user draws or edits, as a value: every change returns a new sketch.

import type { Geometry, Position } from "geojson";
import { forEachPosition, roundPosition } from "./positions";

export type SketchType = "Point" | "LineString" | "Polygon";

export interface Sketch {
  type: SketchType;
  /** Whether the geometry is a multi-geometry even if it has only one part. */
  isMulti: boolean;
  /**
   * Vertices by part and ring. A part of a point or line has one ring. The rings of a polygon do not repeat
   * their first vertex.
   */
  parts: Position[][][];
}

/** Where a vertex is. */
export interface VertexPath {
  part: number;
  ring: number;
  index: number;
}

export interface Vertex extends VertexPath {
  position: Position;
}

const MIN_VERTICES: Record<SketchType, number> = { Point: 1, LineString: 2, Polygon: 3 };

export function emptySketch(type: SketchType): Sketch {
  return { type, isMulti: false, parts: [[[]]] };
}

/** Returns null for geometries that a sketch would change: collections, and shapes with elevations. */
export function sketchOf(geometry: Geometry | null): Sketch | null {
  if (!geometry || geometry.type === "GeometryCollection") return null;
  let isFlat = true;
  forEachPosition(geometry, (position) => (isFlat &&= position.length === 2));
  if (!isFlat) return null;
  const open = (rings: Position[][]) => rings.map((ring) => ring.slice(0, -1));
  switch (geometry.type) {
    case "Point":
      return { type: "Point", isMulti: false, parts: [[[geometry.coordinates]]] };
    case "MultiPoint":
      return { type: "Point", isMulti: true, parts: geometry.coordinates.map((one) => [[one]]) };
    case "LineString":
      return { type: "LineString", isMulti: false, parts: [[geometry.coordinates]] };
    case "MultiLineString":
      return { type: "LineString", isMulti: true, parts: geometry.coordinates.map((line) => [line]) };
    case "Polygon":
      return { type: "Polygon", isMulti: false, parts: [open(geometry.coordinates)] };
    case "MultiPolygon":
      return { type: "Polygon", isMulti: true, parts: geometry.coordinates.map(open) };
  }
}

/** Returns null while a ring has too few vertices. */
export function geometryOf({ type, isMulti, parts }: Sketch): Geometry | null {
  const rings = parts.flat();
  if (rings.length === 0 || rings.some((ring) => ring.length < MIN_VERTICES[type])) return null;
  switch (type) {
    case "Point": {
      const points = rings.map(([point]) => point ?? []);
      return isMulti
        ? { type: "MultiPoint", coordinates: points }
        : { type: "Point", coordinates: points[0] ?? [] };
    }
    case "LineString":
      return isMulti
        ? { type: "MultiLineString", coordinates: rings }
        : { type: "LineString", coordinates: rings[0] ?? [] };
    case "Polygon": {
      const closed = parts.map((part) => part.map(closeRing));
      return isMulti
        ? { type: "MultiPolygon", coordinates: closed }
        : { type: "Polygon", coordinates: closed[0] ?? [] };
    }
  }
}

export function closeRing(ring: Position[]): Position[] {
  return ring[0] ? [...ring, ring[0]] : ring;
}

/** All vertices in the order of the geometry. */
export function vertices({ parts }: Sketch): Vertex[] {
  return parts.flatMap((rings, part) =>
    rings.flatMap((positions, ring) => positions.map((position, index) => ({ part, ring, index, position }))),
  );
}

/** The vertices of the ring that is being drawn. */
export function lastRing({ parts }: Sketch): Position[] {
  return parts.at(-1)?.at(-1) ?? [];
}

export function appendVertex(sketch: Sketch, position: Position): Sketch {
  const path = { part: sketch.parts.length - 1, ring: (sketch.parts.at(-1)?.length ?? 1) - 1 };
  return insertVertex(sketch, { ...path, index: lastRing(sketch).length }, position);
}

export function insertVertex(sketch: Sketch, path: VertexPath, position: Position): Sketch {
  return changeRing(sketch, path, (ring) => ring.toSpliced(path.index, 0, roundPosition(position)));
}

export function moveVertex(sketch: Sketch, path: VertexPath, position: Position): Sketch {
  return changeRing(sketch, path, (ring) => ring.with(path.index, roundPosition(position)));
}

/** Whether the shape stays valid without one vertex. While drawing, every vertex can be removed. */
export function canRemoveVertex(sketch: Sketch, path: VertexPath): boolean {
  const ring = sketch.parts[path.part]?.[path.ring] ?? [];
  return ring.length > MIN_VERTICES[sketch.type] || path.ring > 0 || sketch.parts.length > 1;
}

/** Removes a vertex. Without enough vertices, its hole or part disappears too. */
export function removeVertex(sketch: Sketch, path: VertexPath): Sketch {
  const changed = changeRing(sketch, path, (ring) => ring.toSpliced(path.index, 1));
  const ring = changed.parts[path.part]?.[path.ring] ?? [];
  if (ring.length >= MIN_VERTICES[sketch.type]) return changed;
  if (path.ring > 0) {
    const parts = changed.parts.map((rings, part) =>
      part === path.part ? rings.toSpliced(path.ring, 1) : rings,
    );
    return { ...changed, parts };
  }
  if (changed.parts.length > 1) return { ...changed, parts: changed.parts.toSpliced(path.part, 1) };
  return changed;
}

/** Whether two sketches have their vertices at the same places. */
export function isSameShape(one: Sketch, other: Sketch): boolean {
  return JSON.stringify(one.parts) === JSON.stringify(other.parts);
}

/** The segments of a ring as pairs of indexes. Only polygons have one from the last vertex to the first. */
export function segments(type: SketchType, vertexCount: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (let index = 0; index + 1 < vertexCount; index += 1) pairs.push([index, index + 1]);
  if (type === "Polygon" && vertexCount > 2) pairs.push([vertexCount - 1, 0]);
  return pairs;
}

function changeRing(
  sketch: Sketch,
  path: { part: number; ring: number },
  change: (ring: Position[]) => Position[],
): Sketch {
  const parts = sketch.parts.map((rings, part) =>
    rings.map((ring, index) => (part === path.part && index === path.ring ? change(ring) : ring)),
  );
  return { ...sketch, parts };
}
