// Draws, edits, measures, splits and joins shapes: connects the toolbar, the drawing, the selection and the
// forms in the card.

import type { Geometry, LineString, Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { showToast } from "../app/toasts";
import { t } from "../messages";
import type { Card } from "./card";
import type { FeatureDetails, MapConfig, ShapeChange } from "./config";
import { createDrawing, type Drawing } from "./drawing";
import { createDrawingToolbar, type Hint } from "./drawing-toolbar";
import { formatSize } from "./measure";
import { showSaveForm } from "./save";
import type { Selection } from "./selection";
import { appendVertex, geometryOf, isSameShape, lastRing, sketchOf, vertices } from "./sketch";
import type { Sketch, SketchType } from "./sketch";
import { createSnapping } from "./snapping";
import { confirmJoin, confirmSplit } from "./split-join";

type Task =
  | { kind: "draw" }
  | { kind: "measure"; type: SketchType }
  | { kind: "edit"; feature: FeatureDetails; original: Sketch }
  | { kind: "split"; feature: FeatureDetails }
  | { kind: "join"; feature: FeatureDetails };

export interface ShapeEditor {
  toolbar: HTMLElement;
  isActive(): boolean;
  edit(feature: FeatureDetails): void;
  editAttributes(feature: FeatureDetails): void;
  split(feature: FeatureDetails): void;
  join(feature: FeatureDetails): void;
  /** Continues with the shape if the card showed what to do with it. */
  onCardHidden(): void;
}

/** `element` gets the classes `drawing` and `saving` meanwhile. */
export function createShapeEditor(
  map: MapLibre,
  element: HTMLElement,
  config: MapConfig,
  card: Card,
  selection: Selection,
  onSaved: (change: ShapeChange, message: string) => void,
): ShapeEditor {
  const snapping = createSnapping(map, config);
  let created: Drawing | null = null;
  let task: Task | null = null;
  /** Whether the card shows what to do with the finished shape. */
  let isFinished = false;

  // Created on first use: most users only look at the map.
  const drawing = (): Drawing =>
    (created ??= createDrawing(map, snapping, { onChange: updateToolbar, onFinish: finish }));
  const begin = (next: Task): Drawing => {
    stop();
    card.hide();
    task = next;
    element.classList.add("drawing");
    snapping.reset(next.kind === "edit" ? next.feature.id : null);
    return drawing();
  };
  const stop = () => {
    task = null;
    isFinished = false;
    created?.stop();
    selection.cancelPick();
    selection.outline(null);
    toolbar.reset();
    element.classList.remove("drawing", "saving");
  };
  const discard = () => {
    stop();
    card.hide();
  };
  const saved = (change: ShapeChange, message: string) => {
    discard();
    onSaved(change, message);
  };

  function updateToolbar(sketch: Sketch, pointer: Position | null): void {
    const { canUndo, canRedo } = drawing();
    // While drawing, the size includes the segment to the pointer.
    const extended = pointer && sketch.type !== "Point" ? appendVertex(sketch, pointer) : sketch;
    const measured = geometryOf(extended) ?? geometryOf({ ...extended, type: "LineString" });
    toolbar.update({
      sketch,
      size: measured && sketch.type !== "Point" ? formatSize(measured) : "",
      last: lastRing(sketch).at(-1) ?? null,
      canUndo: canUndo(),
      canRedo: canRedo(),
      canFinish: geometryOf(sketch) !== null,
    });
  }

  function finish(geometry: Geometry): void {
    switch (task?.kind) {
      case "draw":
        showForm(t("script-map-shape-new"), geometry, null);
        break;
      case "edit":
        showForm(t("script-map-shape-edit"), geometry, task.feature);
        break;
      case "measure":
        // The vertices of the measured shape can still be moved.
        drawing().edit(drawing().sketch());
        toolbar.showMeasured(task.type);
        break;
      case "split":
        if (confirmSplit(config, card, task.feature, geometry as LineString, saved, discard)) freeze();
        else showToast(t("script-map-split-impossible"));
        break;
    }
  }

  /** Keeps the shape as it is while the card asks what to do with it. */
  function freeze(): void {
    isFinished = true;
    drawing().pause();
    element.classList.add("saving");
  }

  function showForm(title: string, geometry: Geometry, existing: FeatureDetails | null): void {
    freeze();
    showSaveForm(config, card, {
      title,
      geometry,
      existing,
      onCrossings: (positions) => drawing().showCrossings(positions),
      onRepaired(repaired) {
        const sketch = sketchOf(repaired);
        if (sketch) drawing().replace(sketch);
      },
      onSaved: (change) => saved(change, t("script-map-shape-saved")),
      onDiscard: discard,
    });
  }

  /** Moves the map if the vertex would be outside of it or behind the tools. */
  function addTypedVertex(position: Position): void {
    drawing().addVertex(position);
    const center = position as [number, number];
    const { x, y } = map.project(center);
    const { left, top } = element.getBoundingClientRect();
    const isInside = (box: DOMRect) =>
      x + left >= box.left && x + left <= box.right && y + top >= box.top && y + top <= box.bottom;
    const isVisible =
      isInside(element.getBoundingClientRect()) && !isInside(toolbar.element.getBoundingClientRect());
    if (!isVisible) map.jumpTo({ center });
  }

  const toolbar = createDrawingToolbar(
    {
      draw(type) {
        begin({ kind: "draw" }).start(type);
        toolbar.showDrawing(type, drawingHint(type));
      },
      measure(type) {
        begin({ kind: "measure", type }).start(type);
        toolbar.showDrawing(type, drawingHint(type));
      },
      addVertexAtCenter: () => drawing().addVertexAtCenter(),
      addVertex: addTypedVertex,
      vertices: {
        move: (path, position) => drawing().moveVertex(path, position),
        remove: (path) => drawing().removeVertex(path),
        select: (path) => created?.select(path),
      },
      setSnapping: (isOn) => (snapping.isOn = isOn),
      finish: () => drawing().finish(),
      undo: () => drawing().undo(),
      redo: () => drawing().redo(),
      cancel: stop,
    },
    config.canEdit,
  );

  const hasUnsavedShape = (): boolean => {
    if (!task || !created || task.kind === "measure" || task.kind === "join") return false;
    if (task.kind === "edit") return !isSameShape(created.sketch(), task.original);
    return vertices(created.sketch()).length > 0;
  };
  addEventListener("beforeunload", (event) => {
    if (hasUnsavedShape()) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && task?.kind === "join") stop();
    if (!task || isFinished || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    // In a text field, the browser undoes typing.
    if ((event.target as Element).matches("input:not([type=checkbox]), textarea, select")) return;
    const key = event.key.toLowerCase();
    if (key === "z" && !event.shiftKey) drawing().undo();
    else if (key === "y" || (key === "z" && event.shiftKey)) drawing().redo();
    else return;
    event.preventDefault();
  });

  return {
    toolbar: toolbar.element,
    isActive: () => task !== null,
    edit(feature) {
      const original = sketchOf(feature.geometry);
      if (!original) {
        showToast(t("script-map-shape-not-editable"));
        return;
      }
      begin({ kind: "edit", feature, original }).edit(original);
      toolbar.showEditing();
      updateToolbar(original, null);
    },
    editAttributes(feature) {
      showSaveForm(config, card, {
        title: t("script-map-edit-attributes"),
        geometry: feature.geometry,
        existing: feature,
        onSaved: (change) => saved(change, t("script-map-attributes-saved")),
        onDiscard: card.hide,
      });
    },
    split(feature) {
      begin({ kind: "split", feature }).start("LineString");
      selection.outline(feature.geometry);
      toolbar.showDrawing("LineString", {
        text: t("script-map-split-hint"),
        keys: t("script-map-draw-keys"),
      });
    },
    join(feature) {
      begin({ kind: "join", feature });
      selection.outline(feature.geometry);
      toolbar.showHint({ text: t("script-map-join-hint"), keys: t("script-map-join-keys") });
      map.getCanvas().focus();
      selection.pick(feature.layerId, (other) => {
        if (other.id === feature.id) return;
        if (!confirmJoin(config, card, feature, other, saved, discard)) {
          showToast(t("script-map-join-impossible"));
          return;
        }
        selection.cancelPick();
        element.classList.add("saving");
      });
    },
    onCardHidden() {
      if (task?.kind === "join") {
        stop();
      } else if (isFinished) {
        isFinished = false;
        element.classList.remove("saving");
        if (task?.kind === "split") selection.outline(task.feature.geometry);
        drawing().showCrossings([]);
        drawing().resume();
      }
    },
  };
}

function drawingHint(type: SketchType): Hint {
  switch (type) {
    case "Point":
      return { text: t("script-map-draw-point-hint"), keys: t("script-map-draw-point-keys") };
    case "LineString":
      return { text: t("script-map-draw-line-hint"), keys: t("script-map-draw-keys") };
    case "Polygon":
      return { text: t("script-map-draw-area-hint"), keys: t("script-map-draw-keys") };
  }
}
