// The base map that is always there: land, borders and names of countries out of the program itself, a
// coarse one at first and a fine one from where it shows, under a grid of latitudes and longitudes that
// gets denser as one comes closer. An own style takes its place.

import type { Feature, FeatureCollection, MultiPolygon, Point, Polygon, Position } from "geojson";
import type { GeoJSONSource, Map as MapLibre, StyleSpecification } from "maplibre-gl";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import { flat } from "./flat";
import { palette, type Palette } from "./palette";
import { graticule } from "./graticule";

type Countries = FeatureCollection<Polygon | MultiPolygon, { name: string }>;

/** From here on the coarse coast is seen to be coarse. */
const FINE_FROM = 4.5;
const NOTHING: FeatureCollection = { type: "FeatureCollection", features: [] };

export function baseStyle(): StyleSpecification {
  const colors = palette();
  return {
    version: 8,
    sources: {
      countries: { type: "geojson", data: NOTHING, tolerance: 0.05, attribution: "Natural Earth" },
      names: { type: "geojson", data: NOTHING },
      grid: { type: "geojson", data: NOTHING, tolerance: 0, maxzoom: 24 },
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
          // Without an address for glyphs MapLibre draws them from the page's own fonts.
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

/** Fills the base map once its style is there, and keeps it right as one moves. */
export async function fillBase(map: MapLibre): Promise<void> {
  const drawGrid = () => source(map, "grid")?.setData(graticule(map));
  drawGrid();
  map.on("moveend", drawGrid);
  await show(map, asset("countries-50m.json"));
  let isFine = false;
  const finer = () => {
    if (isFine || map.getZoom() < FINE_FROM) return;
    isFine = true;
    map.off("moveend", finer);
    void show(map, asset("countries-10m.json"));
  };
  map.on("moveend", finer);
  // The layers of the workspace come first.
  map.once("idle", finer);
}

/** Puts the base map into the colours of day or night. */
export function tintBase(map: MapLibre, colors: Palette): void {
  if (!map.getLayer("land")) return;
  map.setPaintProperty("water", "background-color", colors.water);
  map.setPaintProperty("land", "fill-color", colors.land);
  map.setPaintProperty("borders", "line-color", colors.border);
  map.setPaintProperty("grid", "line-color", colors.grid);
  map.setPaintProperty("names", "text-color", colors.label);
  map.setPaintProperty("names", "text-halo-color", colors.halo);
}

async function show(map: MapLibre, url: string): Promise<void> {
  const topology = (await (await fetch(url)).json()) as Topology<{
    countries: GeometryCollection<{ name: string }>;
  }>;
  const countries = feature(topology, topology.objects.countries) as Countries;
  for (const { geometry } of countries.features) {
    const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
    for (const rings of parts) rings.forEach((ring, index) => (rings[index] = flat(ring)));
  }
  source(map, "countries")?.setData(countries);
  await document.fonts.load("400 16px Inter");
  source(map, "names")?.setData({ type: "FeatureCollection", features: countries.features.map(named) });
}

function source(map: MapLibre, id: string): GeoJSONSource | undefined {
  return map.getSource<GeoJSONSource>(id);
}

/** A country's name in the middle of its largest part. */
function named({ geometry, properties }: Feature<Polygon | MultiPolygon, { name: string }>): Feature<Point> {
  const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  let largest = { size: -1, at: [0, 0] as Position };
  for (const [ring] of parts) {
    const measured = ring ? middle(ring) : largest;
    if (measured.size > largest.size) largest = measured;
  }
  const { size, at } = largest;
  return {
    type: "Feature",
    properties: { name: properties.name, size },
    geometry: { type: "Point", coordinates: at },
  };
}

function middle(ring: Position[]): { size: number; at: Position } {
  let [twice, x, y] = [0, 0, 0];
  for (let index = 0; index + 1 < ring.length; index += 1) {
    const [[x0 = 0, y0 = 0], [x1 = 0, y1 = 0]] = [ring[index] ?? [], ring[index + 1] ?? []];
    const cross = x0 * y1 - x1 * y0;
    twice += cross;
    x += (x0 + x1) * cross;
    y += (y0 + y1) * cross;
  }
  if (twice === 0) return { size: 0, at: ring[0] ?? [0, 0] };
  return { size: Math.abs(twice / 2), at: [x / (3 * twice), y / (3 * twice)] };
}
