// Drags a vertex, or a new one from the middle of a segment, with the mouse or a finger.

import type { Position } from "geojson";
import type { Map as MapLibre, MapMouseEvent, MapTouchEvent, Point } from "maplibre-gl";
import { midpointAt, vertexAt } from "./hit-test";
import { insertVertex, moveVertex, vertices, type Sketch, type VertexPath } from "./sketch";
import type { Snap } from "./snap-geometry";
import type { Snapping } from "./snapping";

/** How far from a vertex the pointer or a finger may be, in pixels. */
export const POINTER_REACH = 8;
const TOUCH_REACH = 18;
/** A shorter movement is a click, in pixels. MapLibre uses the same value. */
export const CLICK_TOLERANCE = 3;

export interface DragEvents {
  /** The sketch whose vertices can be dragged, or null if none can. */
  sketch(): Sketch | null;
  hasMidpoints(): boolean;
  onMove(sketch: Sketch, snap: Snap | null): void;
  /** `refine` returns the sketch with the exact position where the vertex was dropped. */
  onDrop(sketch: Sketch, refine: () => Promise<Sketch>): void;
  /** The vertex was clicked, not dragged. */
  onClick(path: VertexPath): void;
}

export interface VertexDrag {
  isDragging(): boolean;
  cancel(): void;
}

export function createVertexDrag(map: MapLibre, snapping: Snapping, events: DragEvents): VertexDrag {
  let dragged: { path: VertexPath; sketch: Sketch; start: Point; hasMoved: boolean } | null = null;

  const start = (event: MapMouseEvent | MapTouchEvent, reach: number) => {
    const sketch = events.sketch();
    if (!sketch || ("points" in event && event.points.length > 1)) return;
    if (event.originalEvent instanceof MouseEvent && event.originalEvent.button !== 0) return;
    const { point, lngLat } = event;
    const place = { x: point.x, y: point.y, reach };
    const vertex = vertexAt(map, sketch, place);
    const inserted = !vertex && events.hasMidpoints() ? midpointAt(map, sketch, place) : null;
    const path = vertex ?? inserted;
    if (!path) return;
    // The map must not move with the vertex.
    event.preventDefault();
    const changed = inserted ? insertVertex(sketch, inserted, [lngLat.lng, lngLat.lat]) : sketch;
    dragged = { path, sketch: changed, start: point, hasMoved: false };
  };
  const move = ({ point, lngLat }: MapMouseEvent | MapTouchEvent) => {
    if (!dragged || (!dragged.hasMoved && point.dist(dragged.start) <= CLICK_TOLERANCE)) return;
    const { path, sketch } = dragged;
    const snap = snapping.find(point.x, point.y, otherVertices(sketch, path));
    dragged.hasMoved = true;
    dragged.sketch = moveVertex(sketch, path, snap?.position ?? [lngLat.lng, lngLat.lat]);
    events.onMove(dragged.sketch, snap);
  };
  const end = ({ point }: MapMouseEvent | MapTouchEvent) => {
    if (!dragged) return;
    const { path, sketch, hasMoved } = dragged;
    dragged = null;
    if (!hasMoved) {
      events.onClick(path);
      return;
    }
    events.onDrop(sketch, async () => {
      const snap = await snapping.findExact(point.x, point.y, otherVertices(sketch, path));
      return snap ? moveVertex(sketch, path, snap.position) : sketch;
    });
  };

  map.on("mousedown", (event) => start(event, POINTER_REACH));
  map.on("touchstart", (event) => start(event, TOUCH_REACH));
  map.on("mousemove", (event) => {
    // The button can be released outside of the map.
    if (event.originalEvent.buttons === 0) end(event);
    else move(event);
  });
  map.on("touchmove", move);
  map.on("mouseup", end);
  map.on("touchend", end);
  map.on("touchcancel", () => (dragged = null));
  return {
    isDragging: () => dragged !== null,
    cancel() {
      dragged = null;
    },
  };
}

/** A vertex does not snap to itself. */
function otherVertices(sketch: Sketch, { part, ring, index }: VertexPath): Position[] {
  return vertices(sketch)
    .filter((other) => other.part !== part || other.ring !== ring || other.index !== index)
    .map(({ position }) => position);
}
