// Folders as a layer of their own: a point for each in the colour of its status, those of the view.

import type { GeoJSONSource, Map as MapLibre, MapGeoJSONFeature } from "maplibre-gl";
import { tinted } from "./canvas";
import type { FolderPoint, FolderPoints } from "./config";
import { getJson } from "./requests";

export const FOLDERS = "folders";

/** Adds the layer and keeps it to what is in view. `seen` hears which statuses there are. */
export function addFolders(
  map: MapLibre,
  url: string,
  seen: (statuses: Map<string, string>) => void,
): { show(visible: boolean): void } {
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
  // In ink, so that they stand out from the points of layers.
  tinted(({ ink }) => map.setPaintProperty(FOLDERS, "circle-stroke-color", ink));
  let visible = true;
  let running: AbortController | null = null;
  const load = async () => {
    if (!visible) return;
    running?.abort();
    running = new AbortController();
    const bounds = map.getBounds();
    const clamp = (value: number, most: number) => Math.max(-most, Math.min(most, value)).toFixed(6);
    const box = [
      clamp(bounds.getWest(), 180),
      clamp(bounds.getSouth(), 90),
      clamp(bounds.getEast(), 180),
      clamp(bounds.getNorth(), 90),
    ];
    try {
      const points = await getJson<FolderPoints>(`${url}?bbox=${box.join(",")}`, running.signal);
      map.getSource<GeoJSONSource>(FOLDERS)?.setData(points);
      seen(new Map(points.features.map(({ properties: { status, color } }) => [status, color])));
    } catch (error) {
      if (!(error instanceof DOMException)) console.warn("The folders did not come:", error);
    }
  };
  map.on("moveend", () => void load());
  return {
    show(wanted) {
      visible = wanted;
      map.setLayoutProperty(FOLDERS, "visibility", wanted ? "visible" : "none");
      void load();
    },
  };
}

export function folderOf(feature: MapGeoJSONFeature): FolderPoint {
  return feature.properties as FolderPoint;
}
