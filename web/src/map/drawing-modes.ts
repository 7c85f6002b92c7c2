// The Terra Draw modes in the colors of the application.

import {
  TerraDrawLineStringMode,
  TerraDrawPointMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
  type HexColor,
  type SnapToCustom,
} from "terra-draw";
import { palette } from "./palette";

export type ShapeMode = "point" | "linestring" | "polygon";

export function drawingModes(snap: SnapToCustom) {
  const color = palette().accent as HexColor;
  const outline = palette().outline as HexColor;
  const keyEvents = { cancel: "Escape", finish: "Enter" };
  const snapping = { toCustom: snap };
  const vertexStyles = {
    snappingPointColor: color,
    snappingPointOutlineColor: outline,
    snappingPointOutlineWidth: 2,
    snappingPointWidth: 6,
    closingPointColor: outline,
    closingPointOutlineColor: color,
    closingPointOutlineWidth: 2,
    closingPointWidth: 5,
  };
  const point = new TerraDrawPointMode({
    styles: { pointColor: color, pointOutlineColor: outline, pointOutlineWidth: 2, pointWidth: 6 },
  });
  const line = new TerraDrawLineStringMode({
    keyEvents,
    snapping,
    styles: { lineStringColor: color, lineStringWidth: 2.5, ...vertexStyles },
  });
  const polygon = new TerraDrawPolygonMode({
    keyEvents,
    snapping,
    styles: {
      fillColor: color,
      fillOpacity: 0.2,
      outlineColor: color,
      outlineWidth: 2.5,
      ...vertexStyles,
    },
  });
  return [point, line, polygon, selectMode(color, outline, snapping)];
}

function selectMode(color: HexColor, outline: HexColor, snappable: { toCustom: SnapToCustom }) {
  const flags = {
    feature: {
      draggable: true,
      coordinates: { draggable: true, midpoints: true, deletable: true, snappable },
    },
  };
  return new TerraDrawSelectMode({
    keyEvents: null,
    allowManualDeselection: false,
    flags: { point: { feature: { draggable: true } }, linestring: flags, polygon: flags },
    styles: {
      selectedPolygonColor: color,
      selectedPolygonOutlineColor: color,
      selectedPolygonOutlineWidth: 2.5,
      selectedPolygonFillOpacity: 0.2,
      selectedLineStringColor: color,
      selectedLineStringWidth: 2.5,
      selectedPointColor: color,
      selectedPointOutlineColor: outline,
      selectionPointColor: outline,
      selectionPointOutlineColor: color,
      selectionPointOutlineWidth: 2,
      selectionPointWidth: 5,
      midPointColor: color,
      midPointOutlineColor: outline,
      midPointOutlineWidth: 1,
      midPointWidth: 3,
    },
  });
}
