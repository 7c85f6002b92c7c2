// The map page: layers, folders, feature details and drawing on a map that fills the window.

import { GeolocateControl, type Map as MapLibre, NavigationControl } from "maplibre-gl";
import { reloadWithToast, showToast } from "../app/toasts";
import { el } from "../dom";
import { t } from "../messages";
import { createBaseMapSwitcher } from "./base-map-switcher";
import type { BaseMaps } from "./base-maps";
import { createCard } from "./card";
import { boundsOf, type Bounds, type MapConfig, type ShapeChange } from "./config";
import { createMap } from "./create-map";
import { createFeatureTable, type FeatureTable } from "./feature-table";
import { addFolderPoints } from "./folder-points";
import { createGoTo } from "./go-to";
import { createLayerPanel, type LayerPanel } from "./layer-panel";
import { addLayers, refreshLayer } from "./layers";
import { formatPosition } from "./measure";
import { showMapError } from "./placeholder";
import { expandUrl, postJson } from "./requests";
import { initialView, saveViewOnMove, type View } from "./saved-state";
import { createSelection, type Selection } from "./selection";
import { createShapeEditor } from "./shape-editor";
import { reloadOnUrlChange, urlHasPosition } from "./url-state";

export async function showFullMap(element: HTMLElement, config: MapConfig): Promise<void> {
  let map: MapLibre;
  let baseMaps: BaseMaps;
  try {
    ({ map, baseMaps } = await createMap(element, config, { hash: "map", ...initialPosition(config) }));
  } catch (error) {
    showMapError(element, error);
    return;
  }
  map.addControl(new NavigationControl({ showCompass: false }), "top-right");
  // Browsers provide the location only over HTTPS or on localhost.
  if (isSecureContext) {
    map.addControl(new GeolocateControl({ trackUserLocation: true }), "top-right");
    // MapLibre names the button only after the browser has answered whether there is a location.
    const button = map.getContainer().querySelector(".maplibregl-ctrl-geolocate");
    button?.setAttribute("aria-label", t("script-map-find-location"));
  }
  saveViewOnMove(map);

  addLayers(map, config.layers);
  let panel: LayerPanel | undefined;
  const folders = config.folders
    ? addFolderPoints(map, config.folders, (statuses) => panel?.setStatuses(statuses))
    : null;
  panel = createLayerPanel(map, config, folders, (layer) => table.toggle(layer));
  panel.element.append(createBaseMapSwitcher(baseMaps, config.baseMaps) ?? "");

  const showChange = ({ layerId, revision }: ShapeChange, message: string) => {
    const layer = config.layers.find(({ id }) => id === layerId);
    // The server created the layer: this page does not know it yet.
    if (!layer) {
      reloadWithToast(message);
      return;
    }
    refreshLayer(map, layer, revision);
    folders?.refresh();
    table.refresh(layerId);
    showToast(message);
  };
  const card = createCard(() => {
    selection.clear();
    editor.onCardHidden();
  });
  const selection: Selection = createSelection(map, config, card, () => editor.isActive(), {
    edit: (feature) => editor.edit(feature),
    editAttributes: (feature) => editor.editAttributes(feature),
    split: (feature) => editor.split(feature),
    join: (feature) => editor.join(feature),
    async delete(feature) {
      const change = await postJson<ShapeChange>(expandUrl(config.delete, { id: feature.id }), {});
      card.hide();
      showChange(change, t("script-map-shape-deleted"));
    },
  });
  const editor = createShapeEditor(map, element, config, card, selection, showChange);

  const table: FeatureTable = createFeatureTable(map, config, selection, () => editor.isActive());
  const visibleLayers = () => panel?.visibleLayers() ?? [];
  const goTo = createGoTo(map, config, visibleLayers, ({ layerId, featureId }) => {
    void selection.select(layerId, featureId);
  });
  const sidebar = el("div", { class: "map-sidebar" }, goTo, panel.element, editor.toolbar);
  element.append(sidebar, card.element, el("div", { class: "map-crosshair", "aria-hidden": "true" }));
  const coordinates = coordinateDisplay(map);
  map.addControl({ onAdd: () => coordinates, onRemove: () => coordinates.remove() }, "bottom-left");
  element.after(table.element);
  table.restore();
  void selection.restore();
  reloadOnUrlChange();
}

/** The position in the URL, which MapLibre reads itself; or the folder, the last position, all layers. */
function initialPosition(config: MapConfig): Partial<View> & { bounds?: Bounds; fitBoundsOptions?: object } {
  if (urlHasPosition()) return {};
  const fit = (bounds: Bounds) => ({ bounds, fitBoundsOptions: { padding: 72, maxZoom: 17 } });
  if (config.folder?.bbox) return fit(boundsOf(config.folder.bbox));
  const view = initialView(config);
  if (view) return view;
  const all = config.layers.flatMap(({ bounds }) => (bounds ? [bounds] : []));
  if (all.length === 0) return { center: [8, 30], zoom: 1.6 };
  return fit([
    Math.min(...all.map(([west]) => west)),
    Math.min(...all.map(([, south]) => south)),
    Math.max(...all.map(([, , east]) => east)),
    Math.max(...all.map(([, , , north]) => north)),
  ]);
}

/** Shows the coordinates of the pointer, or of the map's center while the map moves. */
function coordinateDisplay(map: MapLibre): HTMLElement {
  const label = t("script-map-coordinates");
  const element = el("output", { class: "maplibregl-ctrl map-coordinates coord", "aria-label": label });
  const show = (lng: number, lat: number) => {
    const decimals = Math.max(2, Math.min(7, Math.round(map.getZoom() / 3) + 1));
    element.textContent = formatPosition([lng, lat], decimals);
  };
  const showCenter = () => show(map.getCenter().lng, map.getCenter().lat);
  map.on("mousemove", ({ lngLat }) => show(lngLat.lng, lngLat.lat));
  map.on("move", showCenter);
  showCenter();
  return element;
}
