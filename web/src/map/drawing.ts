// Draws and edits a sketch on the map by pointer or keyboard, with snapping, undo and redo.

import type { Geometry, Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { createHistory } from "./history";
import { isNear, vertexAt } from "./hit-test";
import { roundPosition } from "./positions";
import {
  appendVertex,
  canRemoveVertex,
  emptySketch,
  geometryOf,
  lastRing,
  moveVertex,
  removeVertex,
  vertices,
  type Sketch,
  type SketchType,
  type VertexPath,
} from "./sketch";
import { createSketchLayers } from "./sketch-layers";
import type { Snap } from "./snap-geometry";
import type { Snapping } from "./snapping";
import { CLICK_TOLERANCE, createVertexDrag, POINTER_REACH } from "./vertex-drag";

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
  let stateBeforePause: State = "drawing";
  let selected: VertexPath | null = null;
  let pointer: Position | null = null;
  let hadDoubleClickZoom = false;
  // Clicks wait for exact coordinates, so they are handled one after another.
  let queue = Promise.resolve();
  const enqueue = (task: () => void | Promise<void>) => {
    queue = queue.then(task).catch((error: unknown) => console.error(error));
  };

  const isActive = () => state === "drawing" || state === "editing";
  const render = (sketch = history.current()) => {
    layers.show(sketch, selected, state === "editing");
    events.onChange(sketch, pointer);
  };
  const change = (sketch: Sketch) => {
    history.push(sketch);
    selected = null;
    layers.showCrossings([]);
    render();
  };
  const remove = (path: VertexPath) => {
    const sketch = history.current();
    if (state === "drawing" || canRemoveVertex(sketch, path)) change(removeVertex(sketch, path));
  };
  const step = (direction: "undo" | "redo") => {
    if (!isActive() || !history[direction]()) return;
    selected = null;
    layers.showCrossings([]);
    showPointer(null, null);
    render();
  };
  const showPointer = (position: Position | null, snap: Snap | null) => {
    pointer = position;
    // Tests wait for this state.
    container.dataset.snap = snap?.kind ?? "";
    layers.showPointer(state === "drawing" && pointer ? preview(history.current(), pointer) : [], snap);
  };
  const setState = (next: State) => {
    state = next;
    selected = null;
    drag.cancel();
    showPointer(null, null);
    render();
  };
  const activate = (next: State, sketch: Sketch) => {
    // A double click finishes a line; it must not zoom as well.
    if (state === "off") hadDoubleClickZoom = map.doubleClickZoom.isEnabled();
    map.doubleClickZoom.disable();
    history.reset(sketch);
    layers.showCrossings([]);
    setState(next);
  };

  const addVertexAt = (x: number, y: number) => {
    enqueue(async () => {
      if (state !== "drawing") return;
      const snap = await snapping.findExact(x, y, positions(history.current()));
      // The user may have cancelled meanwhile.
      if (state !== "drawing") return;
      const { lng, lat } = map.unproject([x, y]);
      const last = lastRing(history.current()).at(-1);
      const isOnLast = last && isNear(map, last, { x, y, reach: CLICK_TOLERANCE });
      if (isOnLast) finish();
      else addVertex(snap?.position ?? [lng, lat]);
    });
  };
  const addVertex = (position: Position) => {
    const sketch = history.current();
    const ring = lastRing(sketch);
    if (sketch.type === "Point") {
      change(appendVertex(emptySketch("Point"), position));
      finish();
    } else if (sketch.type === "Polygon" && ring.length > 2 && isSame(ring[0], position)) {
      finish();
    } else if (!isSame(ring.at(-1), position)) {
      change(appendVertex(sketch, position));
    }
  };
  const finish = () => {
    const geometry = geometryOf(history.current());
    if (geometry && isActive()) events.onFinish(geometry);
  };

  const drag = createVertexDrag(map, snapping, {
    sketch: () => (isActive() ? history.current() : null),
    hasMidpoints: () => state === "editing",
    onMove(sketch, snap) {
      showPointer(null, snap);
      render(sketch);
    },
    onDrop(sketch, refine) {
      showPointer(null, null);
      change(sketch);
      enqueue(async () => {
        const refined = await refine();
        // Only the last decimals change, so this is no step of its own.
        if (!isActive() || history.current() !== sketch || refined === sketch) return;
        history.undo();
        change(refined);
      });
    },
    onClick(path) {
      if (state === "editing") drawing.select(path);
    },
  });
  map.on("mousemove", ({ point, lngLat }) => {
    if (state !== "drawing" || drag.isDragging()) return;
    const snap = snapping.find(point.x, point.y, positions(history.current()));
    showPointer(snap?.position ?? [lngLat.lng, lngLat.lat], snap);
    events.onChange(history.current(), pointer);
  });
  map.on("mouseout", () => {
    if (state !== "drawing" || drag.isDragging()) return;
    showPointer(null, null);
    events.onChange(history.current(), null);
  });
  map.on("click", ({ point }) => {
    if (state === "drawing") addVertexAt(point.x, point.y);
  });
  map.on("contextmenu", ({ point: { x, y } }) => {
    const path = isActive() && vertexAt(map, history.current(), { x, y, reach: POINTER_REACH });
    if (path) remove(path);
  });
  map.getCanvas().addEventListener("keydown", (event) => {
    if (!isActive() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (handleKey(event.key)) event.preventDefault();
  });
  /** Returns whether the key was handled. */
  function handleKey(key: string): boolean {
    const last = state === "drawing" ? vertices(history.current()).at(-1) : undefined;
    const removed = key === "Delete" || key === "Backspace" ? (selected ?? last) : undefined;
    if (removed) remove(removed);
    else if (key === " " && state === "drawing") drawing.addVertexAtCenter();
    // After the vertices that still wait for exact coordinates.
    else if (key === "Enter") enqueue(finish);
    else if (key === "Escape" && last) change(emptySketch(history.current().type));
    else return false;
    return true;
  }

  const drawing: Drawing = {
    start(type) {
      activate("drawing", emptySketch(type));
      map.getCanvas().focus();
    },
    edit: (sketch) => activate("editing", sketch),
    sketch: history.current,
    addVertexAtCenter() {
      const { clientWidth, clientHeight } = container;
      addVertexAt(clientWidth / 2, clientHeight / 2);
    },
    addVertex(position) {
      enqueue(() => {
        if (state === "drawing") addVertex(position);
      });
    },
    moveVertex: (path, position) => change(moveVertex(history.current(), path, position)),
    removeVertex: remove,
    select(path) {
      selected = path;
      layers.show(history.current(), selected, state === "editing");
    },
    replace: change,
    finish,
    undo: () => step("undo"),
    redo: () => step("redo"),
    canUndo: () => isActive() && history.canUndo(),
    canRedo: () => isActive() && history.canRedo(),
    showCrossings: layers.showCrossings,
    pause() {
      stateBeforePause = state;
      setState("paused");
    },
    resume: () => setState(stateBeforePause),
    stop() {
      if (state === "off") return;
      history.reset(emptySketch("Point"));
      setState("off");
      layers.clear();
      if (hadDoubleClickZoom) map.doubleClickZoom.enable();
    },
  };
  return drawing;
}

/** The segments that a vertex at the pointer would add. */
function preview(sketch: Sketch, pointer: Position): Position[] {
  const ring = lastRing(sketch);
  const [first, last] = [ring[0], ring.at(-1)];
  if (!first || !last || sketch.type === "Point") return [];
  return sketch.type === "Polygon" && ring.length > 1 ? [last, pointer, first] : [last, pointer];
}

function positions(sketch: Sketch): Position[] {
  return vertices(sketch).map(({ position }) => position);
}

/** Whether a position would be stored as the same vertex. */
function isSame(vertex: Position | undefined, position: Position): boolean {
  const [longitude, latitude] = roundPosition(position);
  return vertex?.[0] === longitude && vertex?.[1] === latitude;
}
