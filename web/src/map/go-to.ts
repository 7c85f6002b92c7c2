// The search field on the map. It moves the map to a coordinate or a folder.

import { type LngLatBoundsLike, type Map as MapLibre, Marker } from "maplibre-gl";
import { showToast } from "../app/toasts";
import { el } from "../dom";
import { t } from "../messages";
import { boundsOf } from "./config";
import { createFolderCombobox } from "./folder-combobox";
import { parseCoordinate } from "./parse-coordinate";

/** The zoom at which a coordinate is shown, unless the map shows more detail already. */
const ZOOM = 17;

export function createGoTo(map: MapLibre, searchUrl: string): HTMLElement {
  let marker: Marker | null = null;
  const showMarker = (position: [number, number]) => {
    marker?.remove();
    const element = el("div", { class: "map-marker", "aria-hidden": "true" });
    marker = new Marker({ element }).setLngLat(position).addTo(map);
  };
  const { input, list } = createFolderCombobox({
    id: "map-go-to",
    searchUrl,
    placeholder: t("script-map-go-to-placeholder"),
    isOther: (text) => parseCoordinate(text) !== null,
    onOther(text) {
      const center = parseCoordinate(text) as [number, number];
      map.jumpTo({ center, zoom: Math.max(ZOOM, map.getZoom()) });
      showMarker(center);
    },
    onSelect({ reference, bbox }) {
      marker?.remove();
      if (bbox)
        map.fitBounds(boundsOf(bbox) as LngLatBoundsLike, { padding: 72, maxZoom: ZOOM, duration: 0 });
      else showToast(t("script-map-go-to-no-shapes", { reference }));
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
