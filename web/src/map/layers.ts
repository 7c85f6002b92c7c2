// The workspace's layers on the map: areas, lines and points of each in its colour, as visible and as
// opaque as the reader wants them.

import type { ExpressionSpecification, Map as MapLibre, VectorTileSource } from "maplibre-gl";
import type { LayerConfig } from "./config";

/** What a layer paints, with the opacity it has at full strength. */
const PARTS = [
  { part: "area", property: "fill-opacity", full: 0.18 },
  { part: "line", property: "line-opacity", full: 0.95 },
  { part: "point", property: "circle-opacity", full: 0.9 },
] as const;

export function sourceOf(layer: LayerConfig): string {
  return `layer-${layer.id}`;
}

export function partsOf(layer: LayerConfig): string[] {
  return PARTS.map(({ part }) => `${sourceOf(layer)}-${part}`);
}

export function addLayer(map: MapLibre, layer: LayerConfig, before?: string): void {
  map.addSource(sourceOf(layer), {
    type: "vector",
    tiles: [absolute(layer.tiles)],
    minzoom: layer.minZoom,
    maxzoom: Math.min(layer.maxZoom, 22),
    ...(layer.bounds ? { bounds: layer.bounds } : {}),
  });
  const common = { source: sourceOf(layer), "source-layer": layer.sourceLayer };
  const [area, line, point] = partsOf(layer) as [string, string, string];
  map.addLayer(
    { id: area, type: "fill", ...common, filter: kinds("Polygon"), paint: { "fill-color": layer.color } },
    before,
  );
  map.addLayer(
    {
      id: line,
      type: "line",
      ...common,
      filter: kinds("Polygon", "LineString"),
      paint: {
        "line-color": layer.color,
        "line-width": ["interpolate", ["linear"], ["zoom"], 8, 0.6, 14, 1.2, 18, 2],
      },
    },
    before,
  );
  map.addLayer(
    {
      id: point,
      type: "circle",
      ...common,
      filter: kinds("Point"),
      paint: {
        "circle-color": layer.color,
        "circle-radius": ["interpolate", ["linear"], ["zoom"], 6, 1.5, 12, 3, 18, 6],
        "circle-stroke-color": "#ffffff",
        "circle-stroke-width": ["interpolate", ["linear"], ["zoom"], 10, 0, 14, 1],
      },
    },
    before,
  );
}

export function showLayer(map: MapLibre, layer: LayerConfig, visible: boolean): void {
  for (const id of partsOf(layer)) map.setLayoutProperty(id, "visibility", visible ? "visible" : "none");
}

/** Between 0 and 1. */
export function fadeLayer(map: MapLibre, layer: LayerConfig, opacity: number): void {
  PARTS.forEach(({ property, full }, index) => {
    map.setPaintProperty(partsOf(layer)[index] ?? "", property, full * opacity);
  });
  map.setPaintProperty(partsOf(layer)[2] ?? "", "circle-stroke-opacity", opacity);
}

/** Draws the layer from another revision on, so that a new shape is seen at once. */
export function renewLayer(map: MapLibre, layer: LayerConfig, revision: string | number): void {
  const url = new URL(absolute(layer.tiles));
  url.searchParams.set("r", String(revision));
  // What is in braces is for MapLibre.
  const tiles = url.href.replaceAll("%7B", "{").replaceAll("%7D", "}");
  map.getSource<VectorTileSource>(sourceOf(layer))?.setTiles([tiles]);
}

function absolute(tiles: string): string {
  return new URL(tiles, location.origin).href.replaceAll("%7B", "{").replaceAll("%7D", "}");
}

function kinds(...names: string[]): ExpressionSpecification {
  const all = names.flatMap((name) => [name, `Multi${name}`]);
  return ["match", ["geometry-type"], all, true, false];
}
