// The grid of a survey sheet: some four lines across the view, at round figures.

import type { Feature, FeatureCollection, LineString } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";

const LINES = 4;

/** Round parts of a degree: 30° down to a hundredth of a second. */
const STEPS = [
  30,
  20,
  10,
  5,
  2,
  1,
  ...[30, 20, 10, 5, 2, 1].map((minutes) => minutes / 60),
  ...[30, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01].map((seconds) => seconds / 3600),
];

export function graticule(map: MapLibre): FeatureCollection<LineString> {
  const bounds = map.getBounds();
  const [west, east] = [bounds.getWest(), Math.min(bounds.getEast(), bounds.getWest() + 360)];
  const [south, north] = [Math.max(bounds.getSouth(), -85), Math.min(bounds.getNorth(), 85)];
  const step = STEPS.find((size) => (east - west) / size >= LINES) ?? STEPS[STEPS.length - 1] ?? 1;
  const features: Feature<LineString>[] = [];
  const add = (coordinates: [number, number][]) =>
    features.push({ type: "Feature", properties: {}, geometry: { type: "LineString", coordinates } });
  for (let at = Math.ceil(west / step); at * step <= east; at += 1)
    add([
      [at * step, south],
      [at * step, north],
    ]);
  for (let at = Math.ceil(south / step); at * step <= north; at += 1)
    add([
      [west, at * step],
      [east, at * step],
    ]);
  return { type: "FeatureCollection", features };
}
