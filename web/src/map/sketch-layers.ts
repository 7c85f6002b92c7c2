// Shows the sketch on the map: its outline, its vertices, the next segment, and where the pointer snaps.

import type { Feature, Geometry, Position } from "geojson";
import type { ExpressionSpecification, GeoJSONSource, Map as MapLibre } from "maplibre-gl";
import { midpoint } from "./hit-test";
import { withPalette } from "./palette";
import { geometryOf, segments, vertices, type Sketch, type VertexPath } from "./sketch";
import type { Snap } from "./snap-geometry";

const SKETCH = "sketch";
/** What follows the pointer. It is apart because it changes more often. */
const POINTER = "sketch-pointer";
const CROSSINGS = "sketch-crossings";

export interface SketchLayers {
  show(sketch: Sketch, selected: VertexPath | null, withMidpoints: boolean): void;
  /** Shows the segments from the last vertex, and from the first one of a polygon, to the pointer. */
  showPointer(preview: Position[], snap: Snap | null): void;
  showCrossings(positions: Position[]): void;
  clear(): void;
}

export function createSketchLayers(map: MapLibre): SketchLayers {
  for (const id of [SKETCH, POINTER, CROSSINGS])
    map.addSource(id, { type: "geojson", data: { type: "FeatureCollection", features: [] } });
  addStyleLayers(map);
  const setData = (source: string, features: Feature[]) => {
    map.getSource<GeoJSONSource>(source)?.setData({ type: "FeatureCollection", features });
  };
  const layers: SketchLayers = {
    show(sketch, selected, withMidpoints) {
      setData(SKETCH, sketchFeatures(sketch, selected, withMidpoints));
    },
    showPointer(preview, snap) {
      const features = preview.length > 1 ? [feature("preview", lineString(preview))] : [];
      if (snap) features.push(feature(`snap-${snap.kind}`, point(snap.position)));
      setData(POINTER, features);
    },
    showCrossings(positions) {
      setData(
        CROSSINGS,
        positions.map((position) => feature("crossing", point(position))),
      );
    },
    clear() {
      for (const source of [SKETCH, POINTER, CROSSINGS]) setData(source, []);
    },
  };
  return layers;
}

function sketchFeatures(sketch: Sketch, selected: VertexPath | null, withMidpoints: boolean): Feature[] {
  const features: Feature[] = [];
  const geometry = geometryOf(sketch);
  if (sketch.type === "Polygon" && geometry) features.push(feature("area", geometry));
  sketch.parts.flat().forEach((ring) => {
    for (const [from, to] of segments(sketch.type, ring.length)) {
      const [start, end] = [ring[from] ?? [], ring[to] ?? []];
      features.push(feature("outline", lineString([start, end])));
      if (withMidpoints) features.push(feature("midpoint", point(midpoint(start, end))));
    }
  });
  for (const { part, ring, index, position } of vertices(sketch)) {
    const isSelected = selected?.part === part && selected.ring === ring && selected.index === index;
    features.push(feature(isSelected ? "selected" : "vertex", point(position)));
  }
  return features;
}

function addStyleLayers(map: MapLibre): void {
  const hasRole = (role: string): ExpressionSpecification => ["==", ["get", "role"], role];
  const circle = (source: string, role: string, radius: number, stroke: number) =>
    map.addLayer({
      id: `sketch-${role}`,
      type: "circle",
      source,
      filter: hasRole(role),
      paint: { "circle-radius": radius, "circle-stroke-width": stroke },
    });
  map.addLayer({
    id: "sketch-area",
    type: "fill",
    source: SKETCH,
    filter: hasRole("area"),
    paint: { "fill-opacity": 0.15 },
  });
  map.addLayer({
    id: "sketch-outline",
    type: "line",
    source: SKETCH,
    filter: hasRole("outline"),
    layout: { "line-cap": "round" },
    paint: { "line-width": 2.5 },
  });
  map.addLayer({
    id: "sketch-preview",
    type: "line",
    source: POINTER,
    filter: hasRole("preview"),
    paint: { "line-width": 1.5, "line-dasharray": [3, 2] },
  });
  circle(SKETCH, "midpoint", 3, 1);
  circle(SKETCH, "vertex", 5, 2);
  circle(SKETCH, "selected", 6, 2);
  // A large ring on a vertex, a smaller one on an edge.
  circle(POINTER, "snap-vertex", 9, 2.5);
  circle(POINTER, "snap-edge", 6, 2.5);
  circle(CROSSINGS, "crossing", 11, 3);
  for (const id of ["sketch-snap-vertex", "sketch-snap-edge", "sketch-crossing"])
    map.setPaintProperty(id, "circle-opacity", 0);
  withPalette(({ accent, outline, text }) => {
    map.setPaintProperty("sketch-area", "fill-color", accent);
    for (const id of ["sketch-outline", "sketch-preview"]) map.setPaintProperty(id, "line-color", accent);
    const setColors = (role: string, fill: string, stroke: string) => {
      map.setPaintProperty(`sketch-${role}`, "circle-color", fill);
      map.setPaintProperty(`sketch-${role}`, "circle-stroke-color", stroke);
    };
    setColors("midpoint", accent, outline);
    setColors("vertex", outline, accent);
    setColors("selected", accent, outline);
    setColors("snap-vertex", outline, text);
    setColors("snap-edge", outline, text);
    setColors("crossing", accent, accent);
  });
}

function feature(role: string, geometry: Geometry): Feature {
  return { type: "Feature", properties: { role }, geometry };
}

function point(coordinates: Position): Geometry {
  return { type: "Point", coordinates };
}

function lineString(coordinates: Position[]): Geometry {
  return { type: "LineString", coordinates };
}
