// The workspace's layers. Each is one MapLibre source with style layers for fills, lines, circles, and for
// aggregates: shapes without an id that stand for polygons too small to be drawn at this zoom.

import type { ExpressionSpecification, Map as MapLibre, VectorTileSource } from "maplibre-gl";
import type { LayerConfig } from "./config";

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

/** As dark as polygons of a few pixels with their outlines. */
const AGGREGATE_OPACITY = 0.4;

function aggregateLayerId(layer: LayerConfig): string {
  return `${sourceId(layer)}-aggregate`;
}

export function addLayer(map: MapLibre, layer: LayerConfig): void {
  map.addSource(sourceId(layer), {
    type: "vector",
    tiles: [tileTemplate(new URL(layer.tiles, location.origin))],
    minzoom: layer.minZoom,
    maxzoom: Math.min(layer.maxZoom, 22),
    ...(layer.bounds ? { bounds: layer.bounds } : {}),
  });
  const common = { source: sourceId(layer), "source-layer": layer.sourceLayer };
  const [area, line, point] = styleLayerIds(layer) as [string, string, string];
  const isAggregate: ExpressionSpecification = ["has", "groma_count"];
  const isFeature: ExpressionSpecification = ["!", isAggregate];
  map.addLayer({
    id: aggregateLayerId(layer),
    type: "fill",
    ...common,
    filter: isAggregate,
    // Antialiasing would show lines between adjacent rectangles.
    paint: { "fill-color": layer.color, "fill-antialias": false },
  });
  map.addLayer({
    id: area,
    type: "fill",
    ...common,
    filter: ["all", isFeature, isOneOf("Polygon")],
    paint: { "fill-color": layer.color },
  });
  map.addLayer({
    id: line,
    type: "line",
    ...common,
    filter: ["all", isFeature, isOneOf("Polygon", "LineString")],
    paint: {
      "line-color": layer.color,
      "line-width": ["interpolate", ["linear"], ["zoom"], 8, 0.6, 14, 1.2, 18, 2],
    },
  });
  map.addLayer({
    id: point,
    type: "circle",
    ...common,
    filter: isOneOf("Point"),
    paint: {
      "circle-color": layer.color,
      "circle-radius": ["interpolate", ["linear"], ["zoom"], 6, 1.5, 12, 3, 18, 6],
      "circle-stroke-color": "#ffffff",
      "circle-stroke-width": ["interpolate", ["linear"], ["zoom"], 10, 0, 14, 1],
    },
  });
}

export function setLayerVisible(map: MapLibre, layer: LayerConfig, isVisible: boolean): void {
  for (const id of [aggregateLayerId(layer), ...styleLayerIds(layer)])
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
