// A graph of line segments that meet only at their ends, and the faces between them. Splitting, joining and
// repairing polygons are choices among these faces.

import type { Position } from "geojson";
import { closeRing } from "./sketch";
import { roundPosition } from "./positions";

/** A vertex closer than this to an edge lies on it, in degrees: about 0.3 millimeters. */
const TOLERANCE = 3e-9;

export type Segment = [Position, Position];

/** An undirected edge. `count` says how many segments run along it. */
export interface Edge {
  ends: Segment;
  count: number;
}

/** The segments of lines or closed rings. */
export function segmentsOf(lines: Position[][]): Segment[] {
  return lines.flatMap((line) =>
    line.slice(1).map((end, index): Segment => [roundPosition(line[index] ?? []), roundPosition(end)]),
  );
}

/** Cuts segments where they cross or touch, and counts those that coincide. */
export function cutSegments(segments: Segment[]): Edge[] {
  const cuts = segments.map((segment): Position[] => [...segment]);
  forEachPair(segments, (one, other, i, j) => {
    for (const point of meetingPoints(one, other)) {
      cuts[i]?.push(point);
      cuts[j]?.push(point);
    }
  });
  const edges = new Map<string, Edge>();
  segments.forEach(([start], index) => {
    const along = sortByDistance(cuts[index] ?? [], start);
    for (let at = 0; at + 1 < along.length; at += 1) {
      const ends: Segment = [along[at] ?? [], along[at + 1] ?? []];
      const [from, to] = ends.map(key) as [string, string];
      if (from === to) continue;
      const id = from < to ? `${from} ${to}` : `${to} ${from}`;
      const edge = edges.get(id);
      if (edge) edge.count += 1;
      else edges.set(id, { ends, count: 1 });
    }
  });
  return [...edges.values()];
}

/** The points where two segments cross or touch, except where both end. */
export function meetingPoints([a, b]: Segment, [c, d]: Segment): Position[] {
  const touching = [
    ...[a, b].filter((point) => isOn(point, c, d)),
    ...[c, d].filter((point) => isOn(point, a, b)),
  ];
  if (touching.length > 0) return touching;
  const [ends, start] = [
    [cross(a, b, c), cross(a, b, d)],
    [cross(c, d, a), cross(c, d, b)],
  ] as [[number, number], [number, number]];
  if (Math.sign(ends[0]) === Math.sign(ends[1]) || Math.sign(start[0]) === Math.sign(start[1])) return [];
  const along = start[0] / (start[0] - start[1]);
  const point = (axis: number) => (a[axis] ?? 0) + along * ((b[axis] ?? 0) - (a[axis] ?? 0));
  return [roundPosition([point(0), point(1)])];
}

/** Calls `visit` for each pair of segments whose boxes touch. */
export function forEachPair(
  segments: Segment[],
  visit: (one: Segment, other: Segment, i: number, j: number) => void,
): void {
  const boxes = segments
    .map(([[x0 = 0, y0 = 0], [x1 = 0, y1 = 0]], index) => ({
      index,
      west: Math.min(x0, x1) - TOLERANCE,
      east: Math.max(x0, x1) + TOLERANCE,
      south: Math.min(y0, y1) - TOLERANCE,
      north: Math.max(y0, y1) + TOLERANCE,
    }))
    .sort((one, other) => one.west - other.west);
  boxes.forEach((box, at) => {
    for (let next = at + 1; next < boxes.length; next += 1) {
      const other = boxes[next];
      if (!other || other.west > box.east) break;
      if (other.south > box.north || box.south > other.north) continue;
      const [i, j] = [Math.min(box.index, other.index), Math.max(box.index, other.index)];
      const [one, two] = [segments[i], segments[j]];
      if (one && two) visit(one, two, i, j);
    }
  });
}

/**
 * The faces between edges as polygons with holes, counterclockwise. Edges that end nowhere are ignored.
 */
export function polygonize(edges: Segment[]): Position[][][] {
  const rings = traceRings(dropDeadEnds(edges));
  const outers = rings.filter((ring) => area(ring) > 0).map((ring) => [ring]);
  // Around each connected part of the graph runs a clockwise ring. It is a hole of the face it lies in.
  for (const hole of rings.filter((ring) => area(ring) < 0)) {
    // The same ring in the other direction is no parent; its area can differ by rounding.
    const minArea = -area(hole) * (1 + 1e-9);
    const parents = outers.filter(([outer = []]) => area(outer) > minArea && containsRing(outer, hole));
    parents.sort(([one = []], [other = []]) => area(one) - area(other));
    parents[0]?.push(hole);
  }
  return outers.map((face) => face.map(closeRing));
}

/** Whether a position is inside of rings by the even-odd rule: it is in holes outside of the polygon. */
export function isInside([x = 0, y = 0]: Position, rings: Position[][]): boolean {
  let isOdd = false;
  for (const ring of rings) {
    for (let index = 0; index + 1 < ring.length; index += 1) {
      const [[x0 = 0, y0 = 0], [x1 = 0, y1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
      if (y0 > y !== y1 > y && x < x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)) isOdd = !isOdd;
    }
  }
  return isOdd;
}

/** A position inside of a polygon: the middle of the widest span on a line across it. */
export function interiorPoint(rings: Position[][]): Position {
  const heights = [...new Set(rings.flat().map(([, y = 0]) => y))].sort((one, other) => one - other);
  let best: { width: number; position: Position } = { width: -1, position: rings[0]?.[0] ?? [] };
  for (let index = 0; index + 1 < heights.length; index += 1) {
    const y = ((heights[index] ?? 0) + (heights[index + 1] ?? 0)) / 2;
    const crossings = rings.flatMap((ring) => crossingsAt(ring, y)).sort((one, other) => one - other);
    for (let at = 0; at + 1 < crossings.length; at += 2) {
      const [west = 0, east = 0] = crossings.slice(at, at + 2);
      const width = Math.min(east - west, (heights[index + 1] ?? 0) - (heights[index] ?? 0));
      if (width > best.width) best = { width, position: [(west + east) / 2, y] };
    }
  }
  return best.position;
}

function crossingsAt(ring: Position[], y: number): number[] {
  return ring.slice(1).flatMap(([x1 = 0, y1 = 0], index) => {
    const [x0 = 0, y0 = 0] = ring[index] ?? [];
    return y0 > y === y1 > y ? [] : [x0 + ((y - y0) / (y1 - y0)) * (x1 - x0)];
  });
}

function key(position: Position): string {
  return `${position[0]},${position[1]}`;
}

/** Twice the area of the triangle; positive if `c` is on the left of the line from `a` to `b`. */
function cross([ax = 0, ay = 0]: Position, [bx = 0, by = 0]: Position, [cx = 0, cy = 0]: Position): number {
  return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
}

/** Whether a point lies on a segment. */
function isOn(point: Position, a: Position, b: Position): boolean {
  const [[x = 0, y = 0], [ax = 0, ay = 0], [bx = 0, by = 0]] = [point, a, b];
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  if (length === 0) return false;
  const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length));
  return Math.hypot(ax + along * dx - x, ay + along * dy - y) <= TOLERANCE;
}

function sortByDistance(points: Position[], [x0 = 0, y0 = 0]: Position): Position[] {
  const distance = ([x = 0, y = 0]: Position) => Math.hypot(x - x0, y - y0);
  return points.sort((one, other) => distance(one) - distance(other));
}

function dropDeadEnds(edges: Segment[]): Segment[] {
  let kept = edges;
  for (;;) {
    const degrees = new Map<string, number>();
    for (const end of kept.flat()) degrees.set(key(end), (degrees.get(key(end)) ?? 0) + 1);
    const next = kept.filter((ends) => ends.every((end) => (degrees.get(key(end)) ?? 0) > 1));
    if (next.length === kept.length) return kept;
    kept = next;
  }
}

/** Follows each edge in both directions and turns left as sharply as possible at each node. */
function traceRings(edges: Segment[]): Position[][] {
  const byStart = new Map<string, { from: Position; to: Position; angle: number; isUsed: boolean }[]>();
  for (const [a, b] of edges) {
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as Segment[]) {
      const angle = Math.atan2((to[1] ?? 0) - (from[1] ?? 0), (to[0] ?? 0) - (from[0] ?? 0));
      const list = byStart.get(key(from)) ?? [];
      list.push({ from, to, angle, isUsed: false });
      byStart.set(key(from), list);
    }
  }
  for (const list of byStart.values()) list.sort((one, other) => one.angle - other.angle);
  const rings: Position[][] = [];
  for (const first of [...byStart.values()].flat()) {
    const ring: Position[] = [];
    let edge = first;
    while (!edge.isUsed) {
      edge.isUsed = true;
      ring.push(edge.from);
      const around = byStart.get(key(edge.to)) ?? [];
      const back = around.findIndex(({ to }) => key(to) === key(edge.from));
      const next = around[(back + around.length - 1) % around.length];
      if (!next) break;
      edge = next;
    }
    rings.push(...splitAtRepeats(ring));
  }
  return rings.filter((ring) => ring.length > 2);
}

/** Splits a ring that passes through a node twice, so that a valid polygon touches itself only with holes. */
function splitAtRepeats(ring: Position[]): Position[][] {
  const rings: Position[][] = [];
  const path: Position[] = [];
  for (const position of ring) {
    const at = path.findIndex((other) => key(other) === key(position));
    if (at >= 0) rings.push(path.splice(at));
    path.push(position);
  }
  return [...rings, path];
}

/** Twice the area in square degrees; positive if the ring is counterclockwise. The ring is not closed. */
function area(ring: Position[]): number {
  const [origin = [0, 0]] = ring;
  return ring.reduce((sum, position, index) => sum + cross(origin, position, ring[index + 1] ?? origin), 0);
}

/** Whether a ring lies inside of another that it may touch at some vertices. */
function containsRing(outer: Position[], inner: Position[]): boolean {
  const vertices = new Set(outer.map(key));
  const free = inner.find((position) => !vertices.has(key(position)));
  // All vertices are shared: then the ring itself lies inside if its interior does.
  return isInside(free ?? interiorPoint([closeRing(inner)]), [closeRing(outer)]);
}
