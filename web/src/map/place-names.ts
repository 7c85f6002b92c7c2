// The names on the built-in base map: countries in the language of the page, as the browser knows them, and
// oceans and seas from the messages of the page.

import type { Feature, FeatureCollection, MultiPolygon, Point, Polygon, Position } from "geojson";
import { t } from "../messages";

export interface PlaceName {
  name: string;
  kind: "country" | "sea";
  /** Of two names that overlap, the larger place keeps its name. */
  size: number;
  minZoom: number;
}

export type Countries = FeatureCollection<Polygon | MultiPolygon, { name: string }>;

/** The key in the message, the longitude and latitude of the label, and the zoom from which it is shown. */
const SEAS: [string, number, number, number][] = [
  ["north-atlantic", -38, 32, 1],
  ["south-atlantic", -16, -27, 1],
  ["north-pacific", -155, 32, 1],
  ["south-pacific", -125, -28, 1],
  ["indian", 78, -18, 1],
  ["arctic", -160, 78, 1],
  ["southern", 60, -61, 1],
  ["mediterranean", 18, 34.6, 3],
  ["caribbean", -74.5, 14.8, 3],
  ["gulf-of-mexico", -90.5, 25, 3],
  ["arabian", 63.5, 14.5, 3],
  ["bay-of-bengal", 88, 14, 3],
  ["south-china", 114.5, 14.5, 3],
  ["east-china", 125, 29, 3.5],
  ["japan", 134.5, 39.5, 3.5],
  ["okhotsk", 149, 54, 3],
  ["bering", -178, 57.5, 3],
  ["coral", 155, -18, 3],
  ["tasman", 160, -38, 3],
  ["philippine", 134, 19, 3],
  ["hudson-bay", -85.5, 59.5, 3],
  ["gulf-of-alaska", -146, 56.5, 3],
  ["norwegian", 2, 68, 3],
  ["greenland", -7, 76, 3],
  ["barents", 38, 74, 3],
  ["kara", 72, 75.5, 3.5],
  ["labrador", -53, 58, 3],
  ["baffin-bay", -66, 73, 3.5],
  ["north", 3, 56.3, 3.5],
  ["baltic", 19, 57, 4],
  ["gulf-of-bothnia", 19.6, 61.8, 5],
  ["black", 34.5, 43.2, 3.5],
  ["caspian", 50.6, 41.8, 3.5],
  ["red", 38, 20.5, 3.5],
  ["persian-gulf", 51.3, 27.2, 4],
  ["gulf-of-aden", 48, 12.4, 4],
  ["gulf-of-guinea", 2, 1.5, 3],
  ["bay-of-biscay", -4.6, 45.4, 4],
  ["english-channel", -1.6, 50, 5],
  ["irish", -4.9, 53.7, 5.5],
  ["celtic", -7.8, 50.2, 5],
  ["tyrrhenian", 12, 39.8, 4.5],
  ["ligurian", 8.9, 43.5, 5.5],
  ["adriatic", 15.8, 42.7, 4.5],
  ["ionian", 18.6, 37.6, 4.5],
  ["aegean", 25, 38.6, 5],
  ["sargasso", -61, 27.5, 3.5],
  ["java", 111, -4.8, 4],
  ["timor", 127, -11, 4],
  ["great-australian-bight", 130.5, -34, 3.5],
  ["mozambique-channel", 41.5, -18.5, 4],
  ["yellow", 123.3, 36, 4],
  ["gulf-of-thailand", 101.3, 9.8, 4.5],
  ["andaman", 96, 10.5, 4],
  ["weddell", -45, -71, 3.5],
  ["ross", -177, -75, 3.5],
  ["gulf-of-st-lawrence", -61.8, 48.2, 4.5],
];

export function placeNames(countries: Countries): FeatureCollection<Point, PlaceName> {
  const regions = new Intl.DisplayNames(document.documentElement.lang || "en", { type: "region" });
  const labels = countries.features.flatMap((country) => countryLabel(country, regions) ?? []);
  return { type: "FeatureCollection", features: [...SEAS.map(seaLabel), ...labels] };
}

function seaLabel([sea, longitude, latitude, minZoom]: (typeof SEAS)[number]): Feature<Point, PlaceName> {
  return {
    type: "Feature",
    properties: { name: t("script-map-sea", { sea }), kind: "sea", size: 1000 / minZoom, minZoom },
    geometry: { type: "Point", coordinates: [longitude, latitude] },
  };
}

/**
 * Places a country's name at the centroid of its largest part. Territories without an ISO code have no
 * translated name and get no label.
 */
function countryLabel(
  { id, geometry, properties }: Feature<Polygon | MultiPolygon, { name: string }>,
  regions: Intl.DisplayNames,
): Feature<Point, PlaceName> | null {
  // ISO 3166 has no code for Kosovo; CLDR, the source of the names, uses XK.
  const code = /^Kosovo$/.test(properties.name) ? "XK" : regionCode(id);
  if (!code) return null;
  const parts = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  let largest = { size: -1, center: [0, 0] as Position };
  for (const [ring] of parts) {
    const part = ring ? areaAndCentroid(ring) : largest;
    if (part.size > largest.size) largest = part;
  }
  const { size, center } = largest;
  const name = regions.of(code) ?? properties.name;
  return {
    type: "Feature",
    properties: { name, kind: "country", size, minZoom: 1.5 },
    geometry: { type: "Point", coordinates: center },
  };
}

/** The two letters of a country with this numeric ISO 3166 code. */
function regionCode(id: string | number | undefined): string | undefined {
  if (id === undefined) return undefined;
  return new Intl.Locale(`und-${String(id).padStart(3, "0")}`).region;
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
