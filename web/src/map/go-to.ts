// The search field on the map. It goes to a coordinate, a folder, or a feature with a matching attribute.

import { type LngLatBoundsLike, type Map as MapLibre, Marker } from "maplibre-gl";
import { showToast } from "../app/toasts";
import { el, icon, swatch } from "../dom";
import { t } from "../messages";
import { createCombobox } from "./combobox";
import { boundsOf, type FeatureMatch, type FolderMatch, type MapConfig } from "./config";
import { findFolders, folderContent, folderText } from "./folder-combobox";
import { formatPosition } from "./measure";
import { parseCoordinate } from "./parse-coordinate";
import { getJson } from "./requests";

/** The zoom at which a coordinate is shown, unless the map shows more detail already. */
const ZOOM = 17;
/** The number of folders in the list; all others can be found by more letters. */
const MAX_FOLDERS = 8;

type Target =
  | { kind: "coordinate"; text: string; position: [number, number] }
  | { kind: "folder"; folder: FolderMatch }
  | { kind: "feature"; feature: FeatureMatch };

/** `visibleLayers` returns the ids of the layers to search. */
export function createGoTo(
  map: MapLibre,
  config: MapConfig,
  visibleLayers: () => string[],
  onFeature: (feature: FeatureMatch) => void,
): HTMLElement {
  let marker: Marker | null = null;
  const showMarker = (position: [number, number]) => {
    const element = el("div", { class: "map-marker", "aria-hidden": "true" });
    marker = new Marker({ element }).setLngLat(position).addTo(map);
  };
  const fit = (bbox: LngLatBoundsLike) => map.fitBounds(bbox, { padding: 72, maxZoom: ZOOM, duration: 0 });

  const search = async (text: string, signal: AbortSignal): Promise<Target[]> => {
    const position = parseCoordinate(text) as [number, number] | null;
    if (position) return [{ kind: "coordinate", text, position }];
    const query = new URLSearchParams({ term: text, layers: visibleLayers().join(",") });
    const [folders, features] = await Promise.all([
      findFolders(config.search, text, signal),
      getJson<FeatureMatch[]>(`${config.featureSearch}?${query}`, signal),
    ]);
    return [
      ...folders.slice(0, MAX_FOLDERS).map((folder): Target => ({ kind: "folder", folder })),
      ...features.map((feature): Target => ({ kind: "feature", feature })),
    ];
  };
  const { input, list } = createCombobox<Target>({
    id: "map-go-to",
    placeholder: t("script-map-go-to-placeholder"),
    listLabel: t("script-map-go-to-places"),
    emptyText: t("script-map-go-to-no-match"),
    search,
    text: targetText,
    content: targetContent,
    isExact: (target, text) => target.kind === "folder" && target.folder.reference.toLowerCase() === text,
    onSelect(target) {
      marker?.remove();
      if (target.kind === "coordinate") {
        map.jumpTo({ center: target.position, zoom: Math.max(ZOOM, map.getZoom()) });
        showMarker(target.position);
      } else if (target.kind === "feature") {
        if (target.feature.bbox) fit(boundsOf(target.feature.bbox));
        onFeature(target.feature);
      } else if (target.folder.bbox) {
        fit(boundsOf(target.folder.bbox));
      } else {
        showToast(t("script-map-go-to-no-shapes", { reference: target.folder.reference }));
      }
    },
  });
  // The text was found: the next one replaces it.
  input.addEventListener("focus", () => input.select());
  input.addEventListener("input", () => {
    if (input.value === "") marker?.remove();
  });
  return el(
    "search",
    { class: "map-go-to" },
    el("label", { for: "map-go-to" }, t("script-map-go-to")),
    input,
    list,
  );
}

function targetText(target: Target): string {
  if (target.kind === "coordinate") return target.text;
  return target.kind === "folder" ? folderText(target.folder) : target.feature.title;
}

function targetContent(target: Target): Node[] {
  if (target.kind === "folder") return folderContent(target.folder);
  if (target.kind === "coordinate")
    return [icon("point"), el("span", {}, formatPosition(target.position, 6))];
  const { color, title, match, layer } = target.feature;
  const detail = match ? el("small", { class: "faint" }, match) : null;
  const name = el("span", {}, title, detail && " ", detail);
  return [swatch(color), name, el("small", { class: "faint" }, layer)];
}
