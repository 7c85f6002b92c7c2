// Finds and repairs self-crossings, splits a shape by a line, and joins two shapes.

import type { Geometry, LineString, MultiPolygon, Polygon, Position } from "geojson";
import { distance } from "./geodesy";
import { measure } from "./measure";
import {
  cutSegments,
  forEachPair,
  interiorPoint,
  isInside,
  meetingPoints,
  polygonize,
  segmentsOf,
  type Segment,
} from "./planar-graph";
import { roundPosition } from "./positions";

/** Ends of lines that are at most this far apart meet, in meters. */
const MEETING_DISTANCE = 0.001;

/** The points where the outline of a polygon crosses or overlaps itself. */
export function findCrossings(geometry: Geometry): Position[] {
  const found = new Map<string, Position>();
  for (const rings of polygonParts(geometry)) {
    const segments = segmentsOf(rings).filter(([start, end]) => key(start) !== key(end));
    forEachPair(segments, (one, other) => {
      for (const point of meetingPoints(one, other)) {
        const shared = one.filter((end) => other.some((end2) => key(end2) === key(end)));
        // Neighboring segments share one end. Two rings may touch where both have a vertex.
        if (shared.length < 2 && shared.some((end) => key(end) === key(point))) continue;
        found.set(key(point), point);
      }
    });
  }
  return [...found.values()];
}

/**
 * Returns a valid polygon of what is inside by the even-odd rule, as most programs fill a self-crossing
 * polygon. Returns null if nothing is left.
 */
export function repairPolygon(geometry: Geometry): Polygon | MultiPolygon | null {
  const faces = polygonParts(geometry).flatMap((rings) => {
    // The outside of an edge that is there twice is on both of its sides.
    const edges = cutSegments(segmentsOf(rings)).filter(({ count }) => count % 2 === 1);
    return polygonize(edges.map(({ ends }) => ends)).filter((face) => isInside(interiorPoint(face), rings));
  });
  return asPolygon(faces);
}

/** Splits a line or polygon by a line, largest part first. Returns null if that leaves it in one piece. */
export function splitGeometry(geometry: Geometry, by: LineString): Geometry[] | null {
  const parts = isLine(geometry) ? splitLines(geometry, by) : splitPolygons(geometry, by);
  const size = (part: Geometry) => measure(part).area || measure(part).length;
  return parts ? parts.sort((one, other) => size(other) - size(one)) : null;
}

/** Joins two lines with a common end, or two polygons with a common edge. Returns null if there is none. */
export function joinGeometries(one: Geometry, other: Geometry): Geometry | null {
  if (one.type === "LineString" && other.type === "LineString")
    return joinLines(one.coordinates, other.coordinates);
  const [a, b] = [polygonParts(one), polygonParts(other)];
  if (a.length === 0 || b.length === 0) return null;
  const isCovered = (point: Position) => [...a, ...b].some((rings) => isInside(point, rings));
  const edges = cutSegments([...a, ...b].flatMap(segmentsOf)).map(({ ends }) => ends);
  const covered = polygonize(edges).filter((face) => isCovered(interiorPoint(face)));
  // An edge between two covered faces is in both of them, and inside of the union.
  const outline = cutSegments(covered.flatMap(segmentsOf)).filter(({ count }) => count === 1);
  const union = polygonize(outline.map(({ ends }) => ends)).filter((face) => isCovered(interiorPoint(face)));
  return union.length < a.length + b.length ? asPolygon(union) : null;
}

function splitPolygons(geometry: Geometry, by: LineString): Geometry[] | null {
  const parts = polygonParts(geometry);
  const line = segmentsOf([by.coordinates]);
  const faces = parts.flatMap((rings) => {
    const edges = cutSegments([...segmentsOf(rings), ...line]).map(({ ends }) => ends);
    return polygonize(edges).filter((face) => isInside(interiorPoint(face), rings));
  });
  if (faces.length <= parts.length) return null;
  return faces.map((coordinates) => ({ type: "Polygon", coordinates }));
}

function splitLines(geometry: Geometry, by: LineString): Geometry[] | null {
  const lines = lineParts(geometry);
  const cutters = segmentsOf([by.coordinates]);
  const pieces = lines.flatMap((line) => splitLine(line, cutters));
  if (pieces.length <= lines.length) return null;
  return pieces.map((coordinates) => ({ type: "LineString", coordinates }));
}

function splitLine(line: Position[], cutters: Segment[]): Position[][] {
  const pieces: Position[][] = [[line[0] ?? []]];
  line.slice(1).forEach((end, index) => {
    const start = line[index] ?? [];
    const cuts = cutters
      .flatMap((cutter) => meetingPoints([start, end], cutter))
      .sort((one, two) => distance(start, one) - distance(start, two));
    for (const cut of cuts) {
      const piece = pieces.at(-1) ?? [];
      if (key(piece.at(-1) ?? []) !== key(cut)) piece.push(cut);
      // A cut at the start of the line leaves it whole.
      if (piece.length > 1) pieces.push([cut]);
    }
    const piece = pieces.at(-1) ?? [];
    if (key(piece.at(-1) ?? []) !== key(end)) piece.push(end);
  });
  return pieces.filter((piece) => piece.length > 1);
}

function joinLines(one: Position[], other: Position[]): LineString | null {
  const reversed = other.toReversed();
  for (const [first, second] of [
    [one, other],
    [one, reversed],
    [other, one],
    [reversed, one],
  ] as [Position[], Position[]][]) {
    if (distance(first.at(-1) ?? [], second[0] ?? []) <= MEETING_DISTANCE)
      return { type: "LineString", coordinates: [...first, ...second.slice(1)] };
  }
  return null;
}

function asPolygon(faces: Position[][][]): Polygon | MultiPolygon | null {
  const [first] = faces;
  if (!first) return null;
  return faces.length === 1
    ? { type: "Polygon", coordinates: first }
    : { type: "MultiPolygon", coordinates: faces };
}

function isLine({ type }: Geometry): boolean {
  return type === "LineString" || type === "MultiLineString";
}

function lineParts(geometry: Geometry): Position[][] {
  if (geometry.type === "LineString") return [geometry.coordinates.map(roundPosition)];
  return geometry.type === "MultiLineString"
    ? geometry.coordinates.map((line) => line.map(roundPosition))
    : [];
}

function polygonParts(geometry: Geometry): Position[][][] {
  if (geometry.type === "Polygon") return [geometry.coordinates];
  return geometry.type === "MultiPolygon" ? geometry.coordinates : [];
}

function key(position: Position): string {
  return `${position[0]},${position[1]}`;
}
