// Drawing: points, lines and areas, by pointer or by keyboard, catching the corners of what is there;
// and moving the corners of a shape that exists.

import type { Feature, Geometry, LineString, Point, Polygon, Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import {
  TerraDraw,
  TerraDrawLineStringMode,
  TerraDrawModeUndoRedo,
  TerraDrawPointMode,
  TerraDrawPolygonMode,
  TerraDrawSelectMode,
  type HexColor,
  type SnapToCustom,
} from "terra-draw";
import { TerraDrawMapLibreGLAdapter } from "terra-draw-maplibre-gl-adapter";
import { palette } from "./palette";

export type Kind = "point" | "linestring" | "polygon";
export type Drawn = Point | LineString | Polygon;

/** Decimals of a degree: a tenth of a millimetre. */
const DECIMALS = 9;
/** How near a corner catches, in pixels. */
const CATCH = 10;

export interface Drawing {
  begin(kind: Kind): void;
  /** Opens a shape for moving its corners. */
  open(geometry: Drawn): void;
  /** Places a corner in the middle of the map. */
  place(): void;
  finish(): void;
  undo(): void;
  stop(): void;
}

export interface Hears {
  /** The shape so far. */
  changed(geometry: Geometry | null): void;
  /** A new shape is complete. */
  finished(geometry: Drawn): void;
}

export function drawing(map: MapLibre, catchable: () => string[], hears: Hears): Drawing {
  const color = palette().accent as HexColor;
  const ring = palette().ring as HexColor;
  const snapping = { toCustom: corners(map, catchable) };
  const points = {
    snappingPointColor: color,
    snappingPointOutlineColor: ring,
    snappingPointOutlineWidth: 2,
    snappingPointWidth: 6,
  };
  const closing = {
    closingPointColor: ring,
    closingPointOutlineColor: color,
    closingPointOutlineWidth: 2,
    closingPointWidth: 5,
  };
  const keyEvents = { cancel: "Escape", finish: "Enter" };
  const flags = {
    feature: {
      draggable: true,
      coordinates: { draggable: true, midpoints: true, deletable: true, snappable: snapping },
    },
  };
  const draw = new TerraDraw({
    adapter: new TerraDrawMapLibreGLAdapter({ map, coordinatePrecision: DECIMALS }),
    modes: [
      new TerraDrawPointMode({
        styles: { pointColor: color, pointOutlineColor: ring, pointOutlineWidth: 2, pointWidth: 6 },
      }),
      new TerraDrawLineStringMode({
        keyEvents,
        snapping,
        styles: { lineStringColor: color, lineStringWidth: 2.5, ...closing, ...points },
      }),
      new TerraDrawPolygonMode({
        keyEvents,
        snapping,
        styles: {
          fillColor: color,
          fillOpacity: 0.2,
          outlineColor: color,
          outlineWidth: 2.5,
          ...closing,
          ...points,
        },
      }),
      new TerraDrawSelectMode({
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
          selectedPointOutlineColor: ring,
          selectionPointColor: ring,
          selectionPointOutlineColor: color,
          selectionPointOutlineWidth: 2,
          selectionPointWidth: 5,
          midPointColor: color,
          midPointOutlineColor: ring,
          midPointOutlineWidth: 1,
          midPointWidth: 3,
        },
      }),
    ],
    undoRedo: { modeLevel: new TerraDrawModeUndoRedo() },
  });
  let opened = false;
  let doubleClick = false;

  const shape = (): Drawn | null => {
    const drawn = draw.getSnapshot().find(({ properties }) => KINDS.includes(properties.mode as Kind));
    return drawn ? (drawn.geometry as Drawn) : null;
  };
  draw.on("change", () => hears.changed(shape()));
  draw.on("finish", (id) => {
    const feature = draw.getSnapshotFeature(id) as Feature<Drawn> | undefined;
    if (!feature || opened) return;
    hears.finished(feature.geometry);
  });

  const start = () => {
    if (draw.enabled) return;
    // The second click of a double click would zoom.
    doubleClick = map.doubleClickZoom.isEnabled();
    map.doubleClickZoom.disable();
    draw.start();
  };

  return {
    begin(kind) {
      start();
      draw.clear();
      opened = false;
      draw.setMode(kind);
      map.getCanvas().focus();
    },
    open(geometry) {
      start();
      draw.clear();
      opened = true;
      const id = draw.getFeatureId();
      const mode = { Point: "point", LineString: "linestring", Polygon: "polygon" }[geometry.type];
      const [kept] = draw.addFeatures([
        { id, type: "Feature", geometry: rounded(geometry), properties: { mode } },
      ]);
      if (!kept?.valid) throw new Error(kept?.reason ?? "the shape cannot be opened");
      draw.selectFeature(id);
    },
    place() {
      const canvas = map.getCanvas();
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const at = {
        clientX: left + width / 2,
        clientY: top + height / 2,
        button: 0,
        isPrimary: true,
        bubbles: true,
      };
      canvas.dispatchEvent(new PointerEvent("pointermove", at));
      canvas.dispatchEvent(new PointerEvent("pointerdown", at));
      canvas.dispatchEvent(new PointerEvent("pointerup", at));
    },
    finish() {
      if (opened) {
        const geometry = shape();
        if (geometry) hears.finished(geometry);
        return;
      }
      map.getCanvas().dispatchEvent(new KeyboardEvent("keyup", { key: "Enter" }));
    },
    undo() {
      draw.undo();
    },
    stop() {
      opened = false;
      if (!draw.enabled) return;
      draw.stop();
      if (doubleClick) map.doubleClickZoom.enable();
    },
  };
}

const KINDS: Kind[] = ["point", "linestring", "polygon"];

/** Whether a shape is one whose corners can be moved here, without losing parts, holes or heights. */
export function canOpen(geometry: Geometry | null): geometry is Drawn {
  if (!geometry) return false;
  let flat = true;
  each(geometry, (position) => {
    flat &&= position.length === 2;
  });
  if (!flat) return false;
  if (geometry.type === "Polygon") return geometry.coordinates.length === 1;
  return geometry.type === "Point" || geometry.type === "LineString";
}

/** The nearest corner of what is drawn on the map, if one is near. */
function corners(map: MapLibre, catchable: () => string[]): SnapToCustom {
  return ({ containerX, containerY }) => {
    const box: [[number, number], [number, number]] = [
      [containerX - CATCH, containerY - CATCH],
      [containerX + CATCH, containerY + CATCH],
    ];
    let nearest: Position | undefined;
    let least = CATCH;
    for (const { geometry } of map.queryRenderedFeatures(box, { layers: catchable() })) {
      each(geometry, (position) => {
        const { x, y } = map.project([position[0] ?? 0, position[1] ?? 0]);
        const distance = Math.hypot(x - containerX, y - containerY);
        if (distance >= least) return;
        least = distance;
        nearest = position;
      });
    }
    return nearest && round(nearest);
  };
}

function each(geometry: Geometry, then: (position: Position) => void): void {
  if (geometry.type === "GeometryCollection") {
    for (const part of geometry.geometries) each(part, then);
    return;
  }
  const walk = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    if (typeof value[0] === "number") then(value as Position);
    else value.forEach(walk);
  };
  walk(geometry.coordinates);
}

function rounded(geometry: Drawn): Drawn {
  switch (geometry.type) {
    case "Point":
      return { ...geometry, coordinates: round(geometry.coordinates) };
    case "LineString":
      return { ...geometry, coordinates: geometry.coordinates.map(round) };
    case "Polygon":
      return { ...geometry, coordinates: geometry.coordinates.map((ring) => ring.map(round)) };
  }
}

function round(position: Position): Position {
  return position.slice(0, 2).map((value) => Number(value.toFixed(DECIMALS)));
}
