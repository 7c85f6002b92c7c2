// Draws and edits a sketch on the map by pointer or keyboard, with snapping, undo and redo.

import type { Geometry, Position } from "geojson";
import type { MapMouseEvent, MapTouchEvent, Map as MapLibre, Point } from "maplibre-gl";
import { createHistory } from "./history";
import { roundPosition } from "./positions";
import {
  appendVertex,
  canRemoveVertex,
  emptySketch,
  geometryOf,
  insertVertex,
  lastRing,
  moveVertex,
  removeVertex,
  segments,
  vertices,
  type Sketch,
  type SketchType,
  type VertexPath,
} from "./sketch";
import { createSketchLayers, midpoint } from "./sketch-layers";
import type { Snap } from "./snap-geometry";
import type { Snapping } from "./snapping";

/** How far from a vertex the pointer or a finger may be, in pixels. */
const POINTER_REACH = 8;
const TOUCH_REACH = 18;
/** A shorter movement is a click, in pixels. MapLibre uses the same value. */
const CLICK_TOLERANCE = 3;

/** Off: nothing is shown. Paused: the sketch is shown, but the pointer does not change it. */
type State = "off" | "drawing" | "editing" | "paused";

export interface DrawingEvents {
  /** The sketch, or what can be undone, changed. `pointer` is where the next vertex would be. */
  onChange(sketch: Sketch, pointer: Position | null): void;
  onFinish(geometry: Geometry): void;
}

export interface Drawing {
  start(type: SketchType): void;
  /** Opens a shape, so that the user can move, add and remove its vertices. */
  edit(sketch: Sketch): void;
  sketch(): Sketch;
  /** Adds a vertex at the center of the map. */
  addVertexAtCenter(): void;
  addVertex(position: Position): void;
  moveVertex(path: VertexPath, position: Position): void;
  removeVertex(path: VertexPath): void;
  /** Highlights a vertex. */
  select(path: VertexPath | null): void;
  /** Replaces the sketch. The user can undo this. */
  replace(sketch: Sketch): void;
  /** Does nothing while the shape has too few vertices. */
  finish(): void;
  undo(): void;
  redo(): void;
  canUndo(): boolean;
  canRedo(): boolean;
  showCrossings(positions: Position[]): void;
  pause(): void;
  resume(): void;
  stop(): void;
}

export function createDrawing(map: MapLibre, snapping: Snapping, events: DrawingEvents): Drawing {
  const layers = createSketchLayers(map);
  const container = map.getContainer();
  const history = createHistory<Sketch>(emptySketch("Point"));
  let state: State = "off";
  let resumedState: State = "drawing";
  let selected: VertexPath | null = null;
  let dragged: { path: VertexPath; sketch: Sketch; start: Point; hasMoved: boolean } | null = null;
  let pointer: Position | null = null;
  let hadDoubleClickZoom = false;
  // Clicks wait for exact coordinates, so they are handled one after another.
  let queue = Promise.resolve();
  const enqueue = (task: () => void | Promise<void>) => {
    queue = queue.then(task).catch((error: unknown) => console.error(error));
  };

  const isActive = () => state === "drawing" || state === "editing";
  const current = () => dragged?.sketch ?? history.current();
  const render = () => {
    layers.show(current(), selected, state === "editing");
    events.onChange(current(), pointer);
  };
  const change = (sketch: Sketch) => {
    history.push(sketch);
    selected = null;
    layers.showCrossings([]);
    render();
  };
  const remove = (path: VertexPath) => {
    if (state === "drawing" || canRemoveVertex(current(), path)) change(removeVertex(current(), path));
  };
  const showPointer = (snap: Snap | null) => {
    // Tests wait for this state.
    container.dataset.snap = snap?.kind ?? "";
    const ring = lastRing(current());
    const [first, last] = [ring[0], ring.at(-1)];
    const preview = pointer && last && state === "drawing" ? [last, pointer] : [];
    if (preview.length > 0 && first && current().type === "Polygon" && ring.length > 1) preview.push(first);
    layers.showPointer(current().type === "Point" ? [] : preview, snap);
  };
  const clearPointer = () => {
    pointer = null;
    showPointer(null);
  };
  const setState = (next: State) => {
    state = next;
    dragged = null;
    selected = null;
    clearPointer();
  };
  const activate = (next: State, sketch: Sketch) => {
    // A double click finishes a line; it must not zoom as well.
    if (state === "off") hadDoubleClickZoom = map.doubleClickZoom.isEnabled();
    map.doubleClickZoom.disable();
    history.reset(sketch);
    layers.showCrossings([]);
    setState(next);
    render();
  };

  /** The vertices that a vertex may snap to. A vertex does not snap to itself. */
  const ownVertices = (moving: VertexPath | null): Position[] =>
    vertices(current())
      .filter((vertex) => !isSamePath(vertex, moving))
      .map(({ position }) => position);
  const isNear = (position: Position, x: number, y: number, reach: number) => {
    const at = map.project([position[0] ?? 0, position[1] ?? 0]);
    return Math.hypot(at.x - x, at.y - y) <= reach;
  };
  const vertexAt = (x: number, y: number, reach: number): VertexPath | null =>
    vertices(current()).findLast(({ position }) => isNear(position, x, y, reach)) ?? null;
  /** The path of the vertex that dragging a midpoint would insert. */
  const midpointAt = (x: number, y: number, reach: number): VertexPath | null => {
    const { type, parts } = current();
    for (const [part, rings] of parts.entries())
      for (const [ring, positions] of rings.entries())
        for (const [from, to] of segments(type, positions.length)) {
          const middle = midpoint([positions[from] ?? [], positions[to] ?? []]);
          if (isNear(middle, x, y, reach)) return { part, ring, index: from + 1 };
        }
    return null;
  };

  const addVertexAt = (x: number, y: number) => {
    enqueue(async () => {
      if (state !== "drawing") return;
      const snap = await snapping.findExact(x, y, ownVertices(null));
      if (state !== "drawing") return;
      const { lng, lat } = map.unproject([x, y]);
      const last = lastRing(current()).at(-1);
      addVertex(snap?.position ?? [lng, lat], last && isNear(last, x, y, CLICK_TOLERANCE));
    });
  };
  const addVertex = (position: Position, isOnLast = false) => {
    const sketch = current();
    const ring = lastRing(sketch);
    const isClosed = sketch.type === "Polygon" && ring.length > 2 && isSame(ring[0], roundPosition(position));
    if (sketch.type === "Point") {
      change(appendVertex(emptySketch("Point"), position));
      finish();
    } else if (isClosed || isOnLast) {
      // The first corner of a polygon, or a second click on the last vertex, ends the shape.
      finish();
    } else if (!isSame(ring.at(-1), roundPosition(position))) {
      change(appendVertex(sketch, position));
    }
  };
  const finish = () => {
    const geometry = geometryOf(current());
    if (geometry && isActive()) events.onFinish(geometry);
  };
  const step = (direction: "undo" | "redo") => {
    if (!isActive() || !history[direction]()) return;
    selected = null;
    layers.showCrossings([]);
    showPointer(null);
    render();
  };

  const startDrag = (event: MapMouseEvent | MapTouchEvent, reach: number) => {
    if (!isActive() || ("points" in event && event.points.length > 1)) return;
    if (event.originalEvent instanceof MouseEvent && event.originalEvent.button !== 0) return;
    const { x, y } = event.point;
    const vertex = vertexAt(x, y, reach);
    const inserted = !vertex && state === "editing" ? midpointAt(x, y, reach) : null;
    const path = vertex ?? inserted;
    if (!path) return;
    event.preventDefault();
    const { lng, lat } = event.lngLat;
    const sketch = inserted ? insertVertex(current(), inserted, [lng, lat]) : current();
    dragged = { path, sketch, start: event.point, hasMoved: false };
  };
  const drag = ({ point, lngLat }: MapMouseEvent | MapTouchEvent) => {
    if (!dragged || (!dragged.hasMoved && point.dist(dragged.start) <= CLICK_TOLERANCE)) return;
    const snap = snapping.find(point.x, point.y, ownVertices(dragged.path));
    const position = snap?.position ?? [lngLat.lng, lngLat.lat];
    dragged.hasMoved = true;
    dragged.sketch = moveVertex(dragged.sketch, dragged.path, position);
    pointer = null;
    showPointer(snap);
    render();
  };
  const endDrag = ({ point, lngLat }: MapMouseEvent | MapTouchEvent) => {
    if (!dragged) return;
    const { path, sketch, hasMoved } = dragged;
    if (!hasMoved) {
      dragged = null;
      if (state === "editing") drawing.select(path);
      return;
    }
    const own = ownVertices(path);
    dragged = null;
    showPointer(null);
    change(sketch);
    enqueue(async () => {
      const snap = await snapping.findExact(point.x, point.y, own);
      const exact = moveVertex(sketch, path, snap?.position ?? [lngLat.lng, lngLat.lat]);
      // The user sees the vertex where it was dropped; only its last decimals change.
      if (!isActive() || history.current() !== sketch) return;
      history.undo();
      change(exact);
    });
  };

  map.on("mousedown", (event) => startDrag(event, POINTER_REACH));
  map.on("touchstart", (event) => startDrag(event, TOUCH_REACH));
  map.on("touchmove", drag);
  map.on("mouseup", endDrag);
  map.on("touchend", endDrag);
  map.on("touchcancel", () => (dragged = null));
  map.on("mousemove", (event) => {
    if (dragged) {
      // The button can be released outside of the map.
      if (event.originalEvent.buttons === 0) endDrag(event);
      else drag(event);
      return;
    }
    if (state !== "drawing") return;
    const { point, lngLat } = event;
    const snap = snapping.find(point.x, point.y, ownVertices(null));
    pointer = snap?.position ?? [lngLat.lng, lngLat.lat];
    showPointer(snap);
    events.onChange(current(), pointer);
  });
  map.on("mouseout", () => {
    if (!isActive() || dragged) return;
    clearPointer();
    events.onChange(current(), null);
  });
  map.on("click", ({ point }) => {
    if (state === "drawing") addVertexAt(point.x, point.y);
  });
  map.on("contextmenu", ({ point }) => {
    const path = isActive() ? vertexAt(point.x, point.y, POINTER_REACH) : null;
    if (path) remove(path);
  });
  map.getCanvas().addEventListener("keydown", (event) => {
    if (!isActive() || event.ctrlKey || event.metaKey || event.altKey) return;
    const isHandled = handleKey(event.key);
    if (isHandled) event.preventDefault();
  });
  /** Returns whether the key was handled. */
  function handleKey(key: string): boolean {
    const last = vertices(current()).at(-1);
    if (key === " " && state === "drawing") drawing.addVertexAtCenter();
    // After the vertices that still wait for exact coordinates.
    else if (key === "Enter") enqueue(finish);
    else if ((key === "Delete" || key === "Backspace") && selected) remove(selected);
    else if ((key === "Delete" || key === "Backspace") && state === "drawing" && last) remove(last);
    else if (key === "Escape" && state === "drawing" && last) change(emptySketch(current().type));
    else return false;
    return true;
  }

  const drawing: Drawing = {
    start(type) {
      activate("drawing", emptySketch(type));
      map.getCanvas().focus();
    },
    edit(sketch) {
      activate("editing", sketch);
    },
    sketch: current,
    addVertexAtCenter() {
      const { clientWidth, clientHeight } = container;
      addVertexAt(clientWidth / 2, clientHeight / 2);
    },
    addVertex(position) {
      enqueue(() => {
        if (state === "drawing") addVertex(position);
      });
    },
    moveVertex: (path, position) => change(moveVertex(current(), path, position)),
    removeVertex: remove,
    select(path) {
      selected = path;
      layers.show(current(), selected, state === "editing");
    },
    replace: change,
    finish,
    undo: () => step("undo"),
    redo: () => step("redo"),
    canUndo: () => isActive() && history.canUndo(),
    canRedo: () => isActive() && history.canRedo(),
    showCrossings: layers.showCrossings,
    pause() {
      resumedState = state;
      setState("paused");
      render();
    },
    resume() {
      setState(resumedState);
      render();
    },
    stop() {
      if (state === "off") return;
      setState("off");
      history.reset(emptySketch("Point"));
      layers.clear();
      if (hadDoubleClickZoom) map.doubleClickZoom.enable();
    },
  };
  return drawing;
}

function isSame(one: Position | undefined, other: Position): boolean {
  return one?.[0] === other[0] && one?.[1] === other[1];
}

function isSamePath(one: VertexPath, other: VertexPath | null): boolean {
  return one.part === other?.part && one.ring === other.ring && one.index === other.index;
}
