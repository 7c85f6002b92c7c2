// The workspace's layers. Each is one MapLibre source with style layers for fills, lines, circles, and for
// aggregates: shapes without an id that stand for polygons too small to be drawn at this zoom.

import type { ExpressionSpecification, Map as MapLibre, VectorTileSource } from "maplibre-gl";
import { addLabels } from "./canvas-labels";
import type { LayerConfig } from "./config";
import { colorExpression } from "./layer-style";

/** The style layers of features, with the opacity that each has when the layer's opacity is 1. */
const STYLE_LAYERS = [
  { suffix: "area", property: "fill-opacity", opacity: 0.18 },
  { suffix: "line", property: "line-opacity", opacity: 0.95 },
  { suffix: "point", property: "circle-opacity", opacity: 0.9 },
] as const;

export function sourceId(layer: LayerConfig): string {
  return `layer-${layer.id}`;
}

/** The style layers of features. */
export function styleLayerIds(layer: LayerConfig): string[] {
  return STYLE_LAYERS.map(({ suffix }) => `${sourceId(layer)}-${suffix}`);
}

/** The style layers with the outlines of polygons, the lines and the points. */
export function outlineLayerIds(layer: LayerConfig): string[] {
  return styleLayerIds(layer).slice(1);
}

/** As dark as polygons of a few pixels with their outlines. */
const AGGREGATE_OPACITY = 0.4;

function aggregateLayerId(layer: LayerConfig): string {
  return `${sourceId(layer)}-aggregate`;
}

/** Adds layers in the order of the list, the first on top. Points are above lines, lines above polygons. */
export function addLayers(map: MapLibre, layers: LayerConfig[]): void {
  const bottomUp = layers.toReversed();
  for (const layer of bottomUp) addSource(map, layer);
  for (const layer of bottomUp) addAreas(map, layer);
  for (const layer of bottomUp) addLines(map, layer);
  for (const layer of bottomUp) addPoints(map, layer);
  for (const layer of bottomUp) addLayerLabels(map, layer);
}

/** The zooms at which a layer is visible. MapLibre hides a style layer at its `maxzoom` itself. */
function zoomRange({ style: { minZoom, maxZoom } }: LayerConfig): { minzoom: number; maxzoom: number } {
  return { minzoom: minZoom, maxzoom: Math.min(maxZoom + 1, 24) };
}

export function isVisibleAt({ style }: LayerConfig, zoom: number): boolean {
  return zoom >= style.minZoom && zoom < style.maxZoom + 1;
}

const IS_AGGREGATE: ExpressionSpecification = ["has", "groma_count"];
const IS_FEATURE: ExpressionSpecification = ["!", IS_AGGREGATE];

function addSource(map: MapLibre, layer: LayerConfig): void {
  map.addSource(sourceId(layer), {
    type: "vector",
    tiles: [tileTemplate(new URL(layer.tiles, location.origin))],
    minzoom: layer.minZoom,
    maxzoom: Math.min(layer.maxZoom, 22),
    ...(layer.bounds ? { bounds: layer.bounds } : {}),
  });
}

function addAreas(map: MapLibre, layer: LayerConfig): void {
  const [area = ""] = styleLayerIds(layer);
  const common = {
    type: "fill",
    source: sourceId(layer),
    "source-layer": layer.sourceLayer,
    ...zoomRange(layer),
  } as const;
  map.addLayer({
    id: aggregateLayerId(layer),
    ...common,
    filter: IS_AGGREGATE,
    // Antialiasing would show lines between adjacent rectangles.
    paint: { "fill-color": layer.color, "fill-antialias": false },
  });
  map.addLayer({
    id: area,
    ...common,
    filter: ["all", IS_FEATURE, isOneOf("Polygon")],
    paint: { "fill-color": colorExpression(layer.color, layer.style) },
  });
}

function addLines(map: MapLibre, layer: LayerConfig): void {
  const [, line = ""] = styleLayerIds(layer);
  const width = layer.style.lineWidth;
  map.addLayer({
    id: line,
    type: "line",
    source: sourceId(layer),
    "source-layer": layer.sourceLayer,
    filter: ["all", IS_FEATURE, isOneOf("Polygon", "LineString")],
    ...zoomRange(layer),
    paint: {
      "line-color": colorExpression(layer.color, layer.style),
      "line-width": ["interpolate", ["linear"], ["zoom"], 8, width * 0.3, 14, width * 0.6, 18, width],
    },
  });
}

function addPoints(map: MapLibre, layer: LayerConfig): void {
  const [, , point = ""] = styleLayerIds(layer);
  const size = layer.style.pointSize;
  map.addLayer({
    id: point,
    type: "circle",
    source: sourceId(layer),
    "source-layer": layer.sourceLayer,
    filter: isOneOf("Point"),
    ...zoomRange(layer),
    paint: {
      "circle-color": colorExpression(layer.color, layer.style),
      "circle-radius": ["interpolate", ["linear"], ["zoom"], 6, size / 8, 12, size / 4, 18, size / 2],
      "circle-stroke-color": "#ffffff",
      "circle-stroke-width": ["interpolate", ["linear"], ["zoom"], 10, 0, 14, 1],
    },
  });
}

const LABELS = [
  { place: "area", types: ["Polygon"] },
  { place: "line", types: ["LineString"] },
  { place: "point", types: ["Point"] },
] as const;

function labelLayerIds(layer: LayerConfig): string[] {
  return layer.style.label === null ? [] : LABELS.map(({ place }) => `${sourceId(layer)}-label-${place}`);
}

function addLayerLabels(map: MapLibre, layer: LayerConfig): void {
  const { label, labelMinZoom } = layer.style;
  if (label === null) return;
  const { minzoom, maxzoom } = zoomRange(layer);
  for (const { place, types } of LABELS)
    addLabels(map, `${sourceId(layer)}-label-${place}`, {
      source: sourceId(layer),
      sourceLayer: layer.sourceLayer,
      filter: ["all", IS_FEATURE, ["has", label], isOneOf(...types)],
      text: ["to-string", ["get", label]],
      minzoom: Math.max(minzoom, labelMinZoom),
      maxzoom,
      place,
    });
}

export function setLayerVisible(map: MapLibre, layer: LayerConfig, isVisible: boolean): void {
  for (const id of [aggregateLayerId(layer), ...styleLayerIds(layer), ...labelLayerIds(layer)])
    map.setLayoutProperty(id, "visibility", isVisible ? "visible" : "none");
}

/** `factor` is between 0 and 1. */
export function setLayerOpacity(map: MapLibre, layer: LayerConfig, factor: number): void {
  const ids = styleLayerIds(layer);
  STYLE_LAYERS.forEach(({ property, opacity }, index) => {
    map.setPaintProperty(ids[index] ?? "", property, opacity * factor);
  });
  map.setPaintProperty(ids[2] ?? "", "circle-stroke-opacity", factor);
  map.setPaintProperty(aggregateLayerId(layer), "fill-opacity", AGGREGATE_OPACITY * factor);
  for (const id of labelLayerIds(layer)) map.setPaintProperty(id, "icon-opacity", factor);
}

/** Loads the tiles of another revision. */
export function refreshLayer(map: MapLibre, layer: LayerConfig, revision: string | number): void {
  const url = new URL(layer.tiles, location.origin);
  url.searchParams.set("r", String(revision));
  map.getSource<VectorTileSource>(sourceId(layer))?.setTiles([tileTemplate(url)]);
}

/** MapLibre replaces `{z}`, `{x}` and `{y}`, so the braces must not be percent-encoded. */
function tileTemplate(url: URL): string {
  return url.href.replaceAll("%7B", "{").replaceAll("%7D", "}");
}

/** A filter for geometries of these types and the matching multi-types. */
function isOneOf(...types: string[]): ExpressionSpecification {
  const all = types.flatMap((type) => [type, `Multi${type}`]);
  return ["match", ["geometry-type"], all, true, false];
}
