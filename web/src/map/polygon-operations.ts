// Finds and repairs self-crossings, splits a shape by a line, and joins two shapes.

import type { Geometry, LineString, MultiLineString, MultiPolygon, Polygon, Position } from "geojson";
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

/** The points where the outline of a polygon crosses, touches or overlaps itself. */
export function findCrossings(geometry: Geometry): Position[] {
  const found = new Map<string, Position>();
  for (const rings of polygonParts(geometry)) {
    for (const point of rings.flatMap(repeatedVertices)) found.set(key(point), point);
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

/** The vertices that a ring passes more than once. */
function repeatedVertices(ring: Position[]): Position[] {
  const distinct = ring.filter((vertex, index) => key(vertex) !== key(ring[index - 1] ?? []));
  const seen = new Set<string>();
  // The last vertex of a closed ring repeats the first.
  return distinct.slice(0, -1).filter((vertex) => seen.has(key(vertex)) || !seen.add(key(vertex)));
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
  return faces.length > 0 ? asPolygon(faces) : null;
}

/**
 * Splits a line or polygon by a line, largest piece first. Parts of a multi-geometry that the line does not
 * split stay with the largest piece. Returns null if the line splits nothing.
 */
export function splitGeometry(geometry: Geometry, by: LineString): Geometry[] | null {
  return isLine(geometry)
    ? choosePieces(splitLines(geometry, by), (line) => measure(asLine([line])).length, asLine)
    : choosePieces(splitPolygons(geometry, by), (rings) => measure(asPolygon([rings])).area, asPolygon);
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

/** The pieces of each part. */
function splitPolygons(geometry: Geometry, by: LineString): Position[][][][] {
  const line = segmentsOf([by.coordinates]);
  return polygonParts(geometry).map((rings) => {
    const edges = cutSegments([...segmentsOf(rings), ...line]).map(({ ends }) => ends);
    return polygonize(edges).filter((face) => isInside(interiorPoint(face), rings));
  });
}

function splitLines(geometry: Geometry, by: LineString): Position[][][] {
  const cutters = segmentsOf([by.coordinates]);
  return lineParts(geometry).map((line) => splitLine(line, cutters));
}

function choosePieces<Piece>(
  parts: Piece[][],
  size: (piece: Piece) => number,
  asGeometry: (pieces: Piece[]) => Geometry,
): Geometry[] | null {
  const pieces = parts.filter(({ length }) => length > 1).flat();
  const rest = parts.filter(({ length }) => length === 1).flat();
  const [largest, ...others] = pieces.sort((one, other) => size(other) - size(one));
  if (!largest) return null;
  return [asGeometry([largest, ...rest]), ...others.map((piece) => asGeometry([piece]))];
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

function asPolygon(faces: Position[][][]): Polygon | MultiPolygon {
  return faces.length === 1
    ? { type: "Polygon", coordinates: faces[0] ?? [] }
    : { type: "MultiPolygon", coordinates: faces };
}

function asLine(lines: Position[][]): LineString | MultiLineString {
  return lines.length === 1
    ? { type: "LineString", coordinates: lines[0] ?? [] }
    : { type: "MultiLineString", coordinates: lines };
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
