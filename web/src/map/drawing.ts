// Draws points, lines and polygons by pointer or keyboard, and edits the vertices of an existing shape.

import type { Feature, Geometry, LineString, Point, Polygon, Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import { TerraDraw, TerraDrawModeUndoRedo } from "terra-draw";
import { TerraDrawMapLibreGLAdapter } from "terra-draw-maplibre-gl-adapter";
import { drawingModes, type ShapeMode } from "./drawing-modes";
import { DECIMALS, forEachPosition, roundPosition } from "./positions";
import { snapToVertices } from "./snapping";

export type Shape = Point | LineString | Polygon;

export interface Drawing {
  start(mode: ShapeMode): void;
  /** Opens an existing shape, so that the user can move, add and remove its vertices. */
  edit(shape: Shape): void;
  /** Adds a vertex at the center of the map. */
  addVertex(): void;
  finish(): void;
  undo(): void;
  stop(): void;
}

export interface DrawingEvents {
  /** Receives the shape as it is so far. */
  onChange(shape: Shape | null): void;
  onFinish(shape: Shape): void;
}

export function createDrawing(map: MapLibre, snapLayers: () => string[], events: DrawingEvents): Drawing {
  const draw = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: DECIMALS }),
    modes: drawingModes(snapToVertices(map, snapLayers)),
    undoRedo: { modeLevel: new TerraDrawModeUndoRedo() },
  });
  let isEditing = false;
  let hadDoubleClickZoom = false;

  const currentShape = (): Shape | null => {
    const feature = draw.getSnapshot().find(({ properties }) => SHAPE_MODES.includes(properties.mode));
    return feature ? (feature.geometry as Shape) : null;
  };
  draw.on("change", () => events.onChange(currentShape()));
  draw.on("finish", (id) => {
    const feature = draw.getSnapshotFeature(id) as Feature<Shape> | undefined;
    // While editing, this event ends only one drag. The user ends the edit.
    if (!feature || isEditing) return;
    events.onFinish(feature.geometry);
  });

  const enable = () => {
    if (draw.enabled) return;
    // A double click finishes a line; it must not zoom as well.
    hadDoubleClickZoom = map.doubleClickZoom.isEnabled();
    map.doubleClickZoom.disable();
    draw.start();
  };

  return {
    start(mode) {
      enable();
      draw.clear();
      isEditing = false;
      draw.setMode(mode);
      map.getCanvas().focus();
    },
    edit(shape) {
      enable();
      draw.clear();
      isEditing = true;
      const id = draw.getFeatureId();
      const mode = { Point: "point", LineString: "linestring", Polygon: "polygon" }[shape.type];
      const [result] = draw.addFeatures([
        { id, type: "Feature", geometry: roundShape(shape), properties: { mode } },
      ]);
      if (!result?.valid) throw new Error(result?.reason ?? "the shape cannot be edited");
      draw.selectFeature(id);
    },
    addVertex() {
      // Terra Draw has no method for this: it takes vertices from pointer events only.
      const canvas = map.getCanvas();
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const center = {
        clientX: left + width / 2,
        clientY: top + height / 2,
        button: 0,
        isPrimary: true,
        bubbles: true,
      };
      canvas.dispatchEvent(new PointerEvent("pointermove", center));
      canvas.dispatchEvent(new PointerEvent("pointerdown", center));
      canvas.dispatchEvent(new PointerEvent("pointerup", center));
    },
    finish() {
      if (isEditing) {
        const shape = currentShape();
        if (shape) events.onFinish(shape);
        return;
      }
      map.getCanvas().dispatchEvent(new KeyboardEvent("keyup", { key: "Enter" }));
    },
    undo() {
      draw.undo();
    },
    stop() {
      isEditing = false;
      if (!draw.enabled) return;
      draw.stop();
      if (hadDoubleClickZoom) map.doubleClickZoom.enable();
    },
  };
}

const SHAPE_MODES: unknown[] = ["point", "linestring", "polygon"] satisfies ShapeMode[];

/** Whether a geometry can be edited without losing parts, holes or elevations. */
export function isEditable(geometry: Geometry | null): geometry is Shape {
  if (!geometry) return false;
  let hasElevation = false;
  forEachPosition(geometry, (position) => {
    hasElevation ||= position.length !== 2;
  });
  if (hasElevation) return false;
  if (geometry.type === "Polygon") return geometry.coordinates.length === 1;
  return geometry.type === "Point" || geometry.type === "LineString";
}

function roundShape(shape: Shape): Shape {
  const round = (positions: Position[]) => positions.map(roundPosition);
  switch (shape.type) {
    case "Point":
      return { ...shape, coordinates: roundPosition(shape.coordinates) };
    case "LineString":
      return { ...shape, coordinates: round(shape.coordinates) };
    case "Polygon":
      return { ...shape, coordinates: shape.coordinates.map(round) };
  }
}
