// Shows the folders in view as points in the colors of their statuses.

import type { GeoJSONSource, Map as MapLibre } from "maplibre-gl";
import type { FolderPoints } from "./config";
import { withPalette } from "./palette";
import { getJson } from "./requests";

/** The id of both the source and the layer. */
export const FOLDERS = "folders";

export interface FolderLayer {
  /** Loads the folders again, after a shape has changed. */
  refresh(): void;
  setVisible(isVisible: boolean): void;
}

/** `onStatuses` receives the name and color of each status in view. */
export function addFolderPoints(
  map: MapLibre,
  url: string,
  onStatuses: (statuses: Map<string, string>) => void,
): FolderLayer {
  map.addSource(FOLDERS, { type: "geojson", data: { type: "FeatureCollection", features: [] } });
  map.addLayer({
    id: FOLDERS,
    type: "circle",
    source: FOLDERS,
    paint: {
      "circle-color": ["get", "color"],
      "circle-radius": ["interpolate", ["linear"], ["zoom"], 3, 3, 8, 5, 14, 8],
      "circle-stroke-width": 1.5,
    },
  });
  // The outline distinguishes folders from the points of layers.
  withPalette(({ text }) => map.setPaintProperty(FOLDERS, "circle-stroke-color", text));
  let isVisible = true;
  let request: AbortController | null = null;
  const load = async () => {
    if (!isVisible) return;
    request?.abort();
    request = new AbortController();
    try {
      const points = await getJson<FolderPoints>(`${url}?bbox=${boundsInView(map)}`, request.signal);
      map.getSource<GeoJSONSource>(FOLDERS)?.setData(points);
      onStatuses(new Map(points.features.map(({ properties: { status, color } }) => [status, color])));
    } catch (error) {
      if (!(error instanceof DOMException)) console.warn("The folders could not be loaded:", error);
    }
  };
  map.on("moveend", () => void load());
  return {
    refresh: () => void load(),
    setVisible(value) {
      isVisible = value;
      map.setLayoutProperty(FOLDERS, "visibility", value ? "visible" : "none");
      void load();
    },
  };
}

function boundsInView(map: MapLibre): string {
  const bounds = map.getBounds();
  const clamp = (value: number, limit: number) => Math.max(-limit, Math.min(limit, value)).toFixed(6);
  return [
    clamp(bounds.getWest(), 180),
    clamp(bounds.getSouth(), 90),
    clamp(bounds.getEast(), 180),
    clamp(bounds.getNorth(), 90),
  ].join(",");
}
