// Draws a new shape or edits an existing one, and saves it: the toolbar, the drawing and the save form.

import type { Map as MapLibre } from "maplibre-gl";
import { showToast } from "../app/toasts";
import { t } from "../messages";
import type { Card } from "./card";
import type { FeatureDetails, MapConfig, ShapeChange } from "./config";
import { createDrawing, isEditable, type Drawing } from "./drawing";
import { createDrawingToolbar } from "./drawing-toolbar";
import { styleLayerIds } from "./layers";
import { formatSize } from "./measure";
import { showSaveForm } from "./save";

export interface ShapeEditor {
  toolbar: HTMLElement;
  isActive(): boolean;
  edit(feature: FeatureDetails): void;
  stop(): void;
}

/** `element` gets the classes `drawing` and `saving` meanwhile. Hiding the card must call `stop`. */
export function createShapeEditor(
  map: MapLibre,
  element: HTMLElement,
  config: MapConfig,
  card: Card,
  onSaved: (change: ShapeChange) => void,
): ShapeEditor {
  let drawing: Drawing | null = null;
  let edited: FeatureDetails | null = null;
  let isActive = false;

  // Created on first use: most users only look at the map.
  const getDrawing = (): Drawing =>
    (drawing ??= createDrawing(map, () => config.layers.flatMap(styleLayerIds), {
      onChange: (shape) => toolbar.setSize(shape ? formatSize(shape) : ""),
      onFinish(shape) {
        element.classList.add("saving");
        showSaveForm(config, card, shape, edited, (change) => {
          card.hide();
          onSaved(change);
        });
      },
    }));
  const activate = (): Drawing => {
    card.hide();
    isActive = true;
    element.classList.add("drawing");
    return getDrawing();
  };
  const stop = () => {
    drawing?.stop();
    edited = null;
    isActive = false;
    toolbar.reset();
    element.classList.remove("drawing", "saving");
  };
  const toolbar = createDrawingToolbar({
    start: (mode) => activate().start(mode),
    addVertex: () => getDrawing().addVertex(),
    finish: () => getDrawing().finish(),
    undo: () => getDrawing().undo(),
    cancel: stop,
  });
  map.getCanvas().addEventListener("keydown", (event) => {
    if (!isActive || event.key !== " ") return;
    event.preventDefault();
    getDrawing().addVertex();
  });

  return {
    toolbar: toolbar.element,
    isActive: () => isActive,
    edit(feature) {
      const { geometry } = feature;
      if (!isEditable(geometry)) {
        showToast(t("script-map-shape-not-editable"));
        return;
      }
      const active = activate();
      edited = feature;
      active.edit(geometry);
      toolbar.showEditing();
    },
    stop,
  };
}
