// The built-in base map: land, borders and names of countries, and a graticule whose spacing follows the
// zoom. It needs no other server. Countries load at low resolution first, and at high resolution once
// the difference is visible. A configured map style replaces this base map.

import type { Feature, FeatureCollection, MultiPolygon, Point, Polygon, Position } from "geojson";
import type { GeoJSONSource, Map as MapLibre, StyleSpecification } from "maplibre-gl";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import { graticule } from "./graticule";
import { palette, type Palette } from "./palette";
import { unwrapRing } from "./unwrap-ring";

type Countries = FeatureCollection<Polygon | MultiPolygon, { name: string }>;

/** The zoom from which the low-resolution coastline looks coarse. */
const DETAIL_ZOOM = 4.5;
const EMPTY: FeatureCollection = { type: "FeatureCollection", features: [] };

export function baseStyle(): StyleSpecification {
  const colors = palette();
  return {
    version: 8,
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
        minzoom: 1.5,
        maxzoom: 8,
        layout: {
          "text-field": ["get", "name"],
          // Without a glyph URL, MapLibre renders labels with the fonts of the page.
          "text-font": ["Inter"],
          "text-size": ["interpolate", ["linear"], ["zoom"], 2, 10, 6, 14],
          "text-letter-spacing": 0.06,
          "text-max-width": 7,
          "symbol-sort-key": ["-", ["get", "size"]],
        },
        paint: { "text-color": colors.label, "text-halo-color": colors.halo, "text-halo-width": 1.2 },
      },
    ],
  };
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
  if (!map.getLayer("land")) return;
  map.setPaintProperty("water", "background-color", colors.water);
  map.setPaintProperty("land", "fill-color", colors.land);
  map.setPaintProperty("borders", "line-color", colors.border);
  map.setPaintProperty("grid", "line-color", colors.grid);
  map.setPaintProperty("names", "text-color", colors.label);
  map.setPaintProperty("names", "text-halo-color", colors.halo);
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
  await document.fonts.load("400 16px Inter");
  source(map, "names")?.setData({
    type: "FeatureCollection",
    features: countries.features.map(countryLabel),
  });
}

function source(map: MapLibre, id: string): GeoJSONSource | undefined {
  return map.getSource<GeoJSONSource>(id);
}

/** Places a country's name at the centroid of its largest part. */
function countryLabel({
  geometry,
  properties,
}: Feature<Polygon | MultiPolygon, { name: string }>): Feature<Point> {
  const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  let largest = { size: -1, center: [0, 0] as Position };
  for (const [ring] of parts) {
    const part = ring ? areaAndCentroid(ring) : largest;
    if (part.size > largest.size) largest = part;
  }
  const { size, center } = largest;
  return {
    type: "Feature",
    properties: { name: properties.name, size },
    geometry: { type: "Point", coordinates: center },
  };
}

function areaAndCentroid(ring: Position[]): { size: number; center: Position } {
  let [doubleArea, x, y] = [0, 0, 0];
  for (let index = 0; index + 1 < ring.length; index += 1) {
    const [[x0 = 0, y0 = 0], [x1 = 0, y1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
    const cross = x0 * y1 - x1 * y0;
    doubleArea += cross;
    x += (x0 + x1) * cross;
    y += (y0 + y1) * cross;
  }
  if (doubleArea === 0) return { size: 0, center: ring[0] ?? [0, 0] };
  return { size: Math.abs(doubleArea / 2), center: [x / (3 * doubleArea), y / (3 * doubleArea)] };
}
