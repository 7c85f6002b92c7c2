// The small map on a folder's page: the folder's shapes, with the workspace's layers faded behind them.

import type { FeatureCollection } from "geojson";
import { type LngLatBoundsLike, type Map as MapLibre, NavigationControl } from "maplibre-gl";
import { t } from "../messages";
import { createBaseMapSwitcher } from "./base-map-switcher";
import type { BaseMaps } from "./base-maps";
import { boundsOf, type Bounds, type MapConfig } from "./config";
import { createMap } from "./create-map";
import { addLayers, setLayerOpacity } from "./layers";
import { formatArea, formatLength, formatPosition, measure } from "./measure";
import { withPalette } from "./palette";
import { showMapError } from "./placeholder";
import { forEachPosition } from "./positions";
import { getJson } from "./requests";

export async function showFolderMap(element: HTMLElement, config: MapConfig): Promise<void> {
  const shapes = await loadShapes(config.geometries);
  const bounds = shapeBounds(shapes) ?? (config.folder?.bbox ? boundsOf(config.folder.bbox) : null);
  showSummary(shapes, bounds);
  let map: MapLibre;
  let baseMaps: BaseMaps;
  try {
    ({ map, baseMaps } = await createMap(element, config, {
      ...(bounds
        ? { bounds: bounds as LngLatBoundsLike, fitBoundsOptions: { padding: 40, maxZoom: 17 } }
        : { center: [8, 30], zoom: 0.6 }),
      // Scrolling over the map scrolls the page.
      cooperativeGestures: true,
    }));
  } catch (error) {
    showMapError(element, error);
    return;
  }
  map.addControl(new NavigationControl({ showCompass: false }), "top-right");
  const switcher = config.baseMaps.list.length > 0 && createBaseMapSwitcher(baseMaps, config.baseMaps);
  if (switcher) {
    switcher.classList.add("maplibregl-ctrl");
    map.addControl({ onAdd: () => switcher, onRemove: () => switcher.remove() }, "top-left");
  }
  addLayers(map, config.layers);
  for (const layer of config.layers) setLayerOpacity(map, layer, 0.35);
  addShapes(map, shapes);
}

async function loadShapes(url: string | null): Promise<FeatureCollection> {
  const empty: FeatureCollection = { type: "FeatureCollection", features: [] };
  return url ? getJson<FeatureCollection>(url).catch(() => empty) : empty;
}

function addShapes(map: MapLibre, shapes: FeatureCollection): void {
  map.addSource("folder", { type: "geojson", data: shapes });
  map.addLayer({
    id: "folder-area",
    type: "fill",
    source: "folder",
    filter: ["==", ["geometry-type"], "Polygon"],
    paint: { "fill-opacity": 0.22 },
  });
  map.addLayer({ id: "folder-line", type: "line", source: "folder", paint: { "line-width": 2 } });
  map.addLayer({
    id: "folder-point",
    type: "circle",
    source: "folder",
    filter: ["==", ["geometry-type"], "Point"],
    paint: { "circle-radius": 5, "circle-stroke-width": 1.5 },
  });
  withPalette(({ accent, outline }) => {
    map.setPaintProperty("folder-area", "fill-color", accent);
    map.setPaintProperty("folder-line", "line-color", accent);
    map.setPaintProperty("folder-point", "circle-color", accent);
    map.setPaintProperty("folder-point", "circle-stroke-color", outline);
  });
}

/** Writes a line such as "47.6528 N  2.0841 W · 3 shapes · 1.84 ha" below the map. */
function showSummary({ features }: FeatureCollection, bounds: Bounds | null): void {
  const element = document.getElementById("map-summary");
  if (!element || !bounds || features.length === 0) return;
  const [west, south, east, north] = bounds;
  const total = { length: 0, area: 0 };
  for (const { geometry } of features) {
    const { length, area } = geometry ? measure(geometry) : { length: 0, area: 0 };
    total.area += area;
    // The length of a polygon is its perimeter, which says little in a sum.
    if (area === 0) total.length += length;
  }
  const parts = [
    formatPosition([(west + east) / 2, (south + north) / 2], 4),
    t("script-map-shape-count", { count: features.length }),
  ];
  if (total.area > 0) parts.push(formatArea(total.area));
  if (total.length > 0) parts.push(formatLength(total.length));
  element.textContent = parts.join(" · ");
}

function shapeBounds({ features }: FeatureCollection): Bounds | null {
  const bounds: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { geometry } of features) {
    if (!geometry) continue;
    forEachPosition(geometry, ([x = 0, y = 0]) => {
      bounds[0] = Math.min(bounds[0], x);
      bounds[1] = Math.min(bounds[1], y);
      bounds[2] = Math.max(bounds[2], x);
      bounds[3] = Math.max(bounds[3], y);
    });
  }
  return bounds[0] <= bounds[2] ? bounds : null;
}
