// The built-in base map: land, borders, names of countries and seas, and a graticule whose spacing follows
// the zoom. It needs no other server. Countries load at low resolution first, and at high resolution once
// the difference is visible. Another base map hides this one; see base-maps.ts.

import type { FeatureCollection } from "geojson";
import type {
  ExpressionSpecification,
  GeoJSONSource,
  Map as MapLibre,
  StyleSpecification,
} from "maplibre-gl";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import { graticule } from "./graticule";
import { palette, type Palette } from "./palette";
import { type Countries, placeNames } from "./place-names";
import { unwrapRing } from "./unwrap-ring";

/** The zoom from which the low-resolution coastline looks coarse. */
const DETAIL_ZOOM = 4.5;
/** The layers above the background, with their range of zooms. */
const LAYERS = [
  { id: "land", min: 0, max: 24 },
  { id: "borders", min: 0, max: 24 },
  { id: "grid", min: 0, max: 24 },
  { id: "names", min: 0, max: 8 },
] as const;
const BACKGROUND = "water";
const IS_SEA: ExpressionSpecification = ["==", ["get", "kind"], "sea"];
const EMPTY: FeatureCollection = { type: "FeatureCollection", features: [] };

export function baseStyle(): StyleSpecification {
  const colors = palette();
  return {
    version: 8,
    // Labels look the same above a style that brings its own fonts.
    "font-faces": { Inter: new URL(asset("inter.woff2"), location.origin).href },
    sources: {
      countries: { type: "geojson", data: EMPTY, tolerance: 0.05, attribution: "Natural Earth" },
      names: { type: "geojson", data: EMPTY },
      grid: { type: "geojson", data: EMPTY, tolerance: 0, maxzoom: 24 },
    },
    layers: [
      { id: "water", type: "background", paint: { "background-color": colors.water } },
      {
        id: "land",
        type: "fill",
        source: "countries",
        paint: { "fill-color": colors.land, "fill-antialias": false },
      },
      {
        id: "borders",
        type: "line",
        source: "countries",
        paint: {
          "line-color": colors.border,
          "line-width": ["interpolate", ["linear"], ["zoom"], 1, 0.5, 8, 1.2],
        },
      },
      { id: "grid", type: "line", source: "grid", paint: { "line-color": colors.grid, "line-width": 0.7 } },
      {
        id: "names",
        type: "symbol",
        source: "names",
        maxzoom: 8,
        filter: [">=", ["zoom"], ["get", "minZoom"]],
        layout: {
          "text-field": ["get", "name"],
          "text-font": ["Inter"],
          "text-size": ["interpolate", ["linear"], ["zoom"], 2, 10, 6, 14],
          "text-letter-spacing": ["case", IS_SEA, 0.14, 0.06],
          "text-max-width": 7,
          "symbol-sort-key": ["-", ["get", "size"]],
        },
        paint: {
          "text-color": ["case", IS_SEA, colors.seaLabel, colors.label],
          "text-halo-color": ["case", IS_SEA, colors.water, colors.halo],
          "text-halo-width": 1.2,
        },
      },
    ],
  };
}

export function isBuiltInLayer(id: string): boolean {
  return id === BACKGROUND || LAYERS.some((layer) => layer.id === id);
}

/** Shows the base map below a zoom: 0 hides all but the background, which shows while tiles load. */
export function limitBuiltIn(map: MapLibre, maxZoom: number): void {
  for (const { id, min, max } of LAYERS) {
    map.setLayoutProperty(id, "visibility", maxZoom > min ? "visible" : "none");
    if (maxZoom > min) map.setLayerZoomRange(id, min, Math.min(max, maxZoom));
  }
}

/** Loads the data of the base map and updates it as the map moves. The style must be loaded. */
export async function loadBaseMap(map: MapLibre): Promise<void> {
  const updateGrid = () => source(map, "grid")?.setData(graticule(map));
  updateGrid();
  map.on("moveend", updateGrid);
  await showCountries(map, asset("countries-50m.json"));
  let isDetailed = false;
  const addDetail = () => {
    if (isDetailed || map.getZoom() < DETAIL_ZOOM) return;
    isDetailed = true;
    map.off("moveend", addDetail);
    void showCountries(map, asset("countries-10m.json"));
  };
  map.on("moveend", addDetail);
  // The layers of the workspace load first.
  map.once("idle", addDetail);
}

/** Applies the colors of the light or dark theme. */
export function setBaseMapColors(map: MapLibre, colors: Palette): void {
  map.setPaintProperty("water", "background-color", colors.water);
  map.setPaintProperty("land", "fill-color", colors.land);
  map.setPaintProperty("borders", "line-color", colors.border);
  map.setPaintProperty("grid", "line-color", colors.grid);
  map.setPaintProperty("names", "text-color", ["case", IS_SEA, colors.seaLabel, colors.label]);
  map.setPaintProperty("names", "text-halo-color", ["case", IS_SEA, colors.water, colors.halo]);
}

async function showCountries(map: MapLibre, url: string): Promise<void> {
  const topology = (await (await fetch(url)).json()) as Topology<{
    countries: GeometryCollection<{ name: string }>;
  }>;
  const countries = feature(topology, topology.objects.countries) as Countries;
  for (const { geometry } of countries.features) {
    const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
    for (const rings of parts) rings.forEach((ring, index) => (rings[index] = unwrapRing(ring)));
  }
  source(map, "countries")?.setData(countries);
  source(map, "names")?.setData(placeNames(countries));
}

function source(map: MapLibre, id: string): GeoJSONSource | undefined {
  return map.getSource<GeoJSONSource>(id);
}
