// The map beside a folder: its shapes in the accent, what is around them in hairlines.

import type { FeatureCollection, Geometry, Position } from "geojson";
import { type LngLatBoundsLike, type Map as MapLibre, NavigationControl } from "maplibre-gl";
import { showNoMap } from "./absent";
import { drawMap, tinted } from "./canvas";
import { boundsOf, type Bounds, type MapConfig } from "./config";
import { addLayer, fadeLayer } from "./layers";
import { areaText, lengthText, measure, positionText } from "./measure";
import { getJson } from "./requests";

export async function smallMap(element: HTMLElement, config: MapConfig): Promise<void> {
  const box = config.folder?.bbox ? boundsOf(config.folder.bbox) : null;
  const shapes: FeatureCollection = config.geometries
    ? await getJson<FeatureCollection>(config.geometries).catch(() => ({
        type: "FeatureCollection",
        features: [],
      }))
    : { type: "FeatureCollection", features: [] };
  const bounds = around(shapes) ?? box;
  summarise(shapes, bounds);
  let map: MapLibre;
  try {
    map = await drawMap(element, config, {
      ...(bounds
        ? { bounds: bounds as LngLatBoundsLike, fitBoundsOptions: { padding: 40, maxZoom: 17 } }
        : { center: [8, 30], zoom: 0.6 }),
      // The page scrolls; a map in its way does not take the wheel.
      cooperativeGestures: true,
    });
  } catch (error) {
    showNoMap(element, error);
    return;
  }
  map.addControl(new NavigationControl({ showCompass: false }), "top-right");
  for (const layer of [...config.layers].reverse()) {
    addLayer(map, layer);
    fadeLayer(map, layer, 0.35);
  }
  map.addSource("own", { type: "geojson", data: shapes });
  map.addLayer({
    id: "own-area",
    type: "fill",
    source: "own",
    filter: ["==", ["geometry-type"], "Polygon"],
    paint: { "fill-opacity": 0.22 },
  });
  map.addLayer({ id: "own-line", type: "line", source: "own", paint: { "line-width": 2 } });
  map.addLayer({
    id: "own-point",
    type: "circle",
    source: "own",
    filter: ["==", ["geometry-type"], "Point"],
    paint: { "circle-radius": 5, "circle-stroke-width": 1.5 },
  });
  tinted(({ accent, ring }) => {
    map.setPaintProperty("own-area", "fill-color", accent);
    map.setPaintProperty("own-line", "line-color", accent);
    map.setPaintProperty("own-point", "circle-color", accent);
    map.setPaintProperty("own-point", "circle-stroke-color", ring);
  });
}

/** «47.6528 N 2.0841 W · 3 shapes · 1.84 ha» */
function summarise({ features }: FeatureCollection, bounds: Bounds | null): void {
  const line = document.getElementById("map-summary");
  if (!line || !bounds || features.length === 0) return;
  const [west, south, east, north] = bounds;
  const sums = { length: 0, area: 0 };
  for (const { geometry } of features) {
    const { length, area } = geometry ? measure(geometry) : { length: 0, area: 0 };
    sums.area += area;
    if (area === 0) sums.length += length;
  }
  const parts = [
    positionText([(west + east) / 2, (south + north) / 2], 4),
    features.length === 1 ? "1 shape" : `${features.length} shapes`,
  ];
  if (sums.area > 0) parts.push(areaText(sums.area));
  if (sums.length > 0) parts.push(lengthText(sums.length));
  line.textContent = parts.join(" · ");
}

function around({ features }: FeatureCollection): Bounds | null {
  const box: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  const take = ([x = 0, y = 0]: Position) => {
    box[0] = Math.min(box[0], x);
    box[1] = Math.min(box[1], y);
    box[2] = Math.max(box[2], x);
    box[3] = Math.max(box[3], y);
  };
  const walk = (value: unknown): void => {
    if (!Array.isArray(value)) return;
    if (typeof value[0] === "number") take(value as Position);
    else value.forEach(walk);
  };
  const enter = (geometry: Geometry | null): void => {
    if (!geometry) return;
    if (geometry.type === "GeometryCollection") geometry.geometries.forEach(enter);
    else walk(geometry.coordinates);
  };
  for (const { geometry } of features) enter(geometry);
  return box[0] <= box[2] ? box : null;
}
