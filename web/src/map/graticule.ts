// A grid of meridians and parallels at round values, with about four lines across the view.

import type { Feature, FeatureCollection, LineString } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";

const LINES_ACROSS = 4;

/** Spacing in degrees, from 30° down to a hundredth of a second. */
const SPACINGS = [
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
  const spacing =
    SPACINGS.find((size) => (east - west) / size >= LINES_ACROSS) ?? SPACINGS[SPACINGS.length - 1] ?? 1;
  const features: Feature<LineString>[] = [];
  const addLine = (...coordinates: [number, number][]) =>
    features.push({ type: "Feature", properties: {}, geometry: { type: "LineString", coordinates } });
  for (let line = Math.ceil(west / spacing); line * spacing <= east; line += 1)
    addLine([line * spacing, south], [line * spacing, north]);
  for (let line = Math.ceil(south / spacing); line * spacing <= north; line += 1)
    addLine([west, line * spacing], [east, line * spacing]);
  return { type: "FeatureCollection", features };
}
