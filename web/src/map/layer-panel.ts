// The layer panel: shows and hides layers, serves as the legend, and has a menu for each layer.

import type { Map as MapLibre } from "maplibre-gl";
import { button, dot, el, icon, swatch } from "../dom";
import { t } from "../messages";
import type { Bounds, LayerConfig, MapConfig } from "./config";
import { exportForm } from "./export-form";
import { FOLDERS, type FolderLayer } from "./folder-points";
import { legendEntries } from "./layer-style";
import { isVisibleAt, setLayerOpacity, setLayerVisible } from "./layers";
import { readPanelState, savePanelState } from "./saved-state";
import { readUrlState, writeUrlState } from "./url-state";

export interface LayerPanel {
  element: HTMLElement;
  /** Ids of the layers that are shown. */
  visibleLayers(): string[];
  /** Shows the name and color of each status below "Folders". */
  setStatuses(statuses: Map<string, string>): void;
}

export function createLayerPanel(
  map: MapLibre,
  { layers, exportFormats, canEdit }: MapConfig,
  folders: FolderLayer | null,
  onTable: (layer: LayerConfig) => void,
): LayerPanel {
  const state = readPanelState();
  // Opening a link does not change the saved state; showing or hiding a layer does.
  let savedHidden = state.hidden;
  const hiddenInUrl = readUrlState("hidden");
  if (hiddenInUrl !== null) {
    const slugs = hiddenInUrl.split(",");
    state.hidden = layers.filter(({ slug }) => slugs.includes(slug)).map(({ id }) => id);
    if (slugs.includes(FOLDERS)) state.hidden.push(FOLDERS);
  }
  const save = () => savePanelState({ ...state, hidden: savedHidden });
  const setHidden = (id: string, isHidden: boolean) => {
    state.hidden = state.hidden.filter((other) => other !== id);
    if (isHidden) state.hidden.push(id);
    savedHidden = state.hidden;
    save();
    const slugs = layers.filter((layer) => state.hidden.includes(layer.id)).map(({ slug }) => slug);
    if (state.hidden.includes(FOLDERS)) slugs.unshift(FOLDERS);
    writeUrlState("hidden", slugs.join(","));
  };

  const list = el("ul", {});
  const element = el(
    "details",
    { class: "map-panel", open: state.open },
    el("summary", {}, icon("layers"), t("script-map-layers")),
    list,
    canEdit && el("a", { class: "button plain small", href: "/imports" }, t("script-map-import-file")),
  );
  element.addEventListener("toggle", () => {
    state.open = element.open;
    save();
  });
  const legend = el("ul", { class: "map-legend" });
  if (folders) list.append(folderItem(folders));
  for (const layer of layers) list.append(layerItem(layer));
  if (layers.length === 0) list.append(el("li", { class: "faint small" }, t("script-map-layers-empty")));

  function folderItem(folderLayer: FolderLayer): HTMLElement {
    const check = checkbox(!state.hidden.includes(FOLDERS));
    const updateVisibility = () => {
      folderLayer.setVisible(check.checked);
      legend.hidden = !check.checked;
    };
    check.addEventListener("change", () => {
      updateVisibility();
      setHidden(FOLDERS, !check.checked);
    });
    updateVisibility();
    const label = el("label", {}, check, icon("folders"), t("script-map-folders"));
    return el("li", {}, el("div", { class: "map-layer" }, label), legend);
  }

  function layerItem(layer: LayerConfig): HTMLElement {
    const { id, name, color, style } = layer;
    const check = checkbox(!state.hidden.includes(id));
    const range = el("input", {
      type: "range",
      min: "10",
      max: "100",
      step: "5",
      value: String(Math.round((state.opacity[id] ?? style.opacity) * 100)),
      "aria-label": t("script-map-layer-opacity", { name }),
    });
    const opacity = () => Number(range.value) / 100;
    const colors = legendEntries(style).map((entry) => el("li", {}, swatch(entry.color), entry.label));
    const key = el("ul", { class: "map-legend" }, ...colors);
    const outOfZoom = el("p", { class: "map-out-of-zoom" }, t("script-map-layer-hidden-here"));
    const updateVisibility = () => {
      setLayerVisible(map, layer, check.checked);
      range.disabled = !check.checked;
      outOfZoom.hidden = !check.checked || isVisibleAt(layer, map.getZoom());
      key.hidden = !check.checked || !outOfZoom.hidden || colors.length === 0;
    };
    check.addEventListener("change", () => {
      updateVisibility();
      setHidden(id, !check.checked);
    });
    range.addEventListener("input", () => {
      setLayerOpacity(map, layer, opacity());
      state.opacity[id] = opacity();
      save();
    });
    map.on("zoomend", updateVisibility);
    updateVisibility();
    setLayerOpacity(map, layer, opacity());
    const label = el("label", {}, check, colors.length > 0 ? icon("layers") : swatch(color), name);
    if (layer.locked) label.append(lockMark());
    const row = el(
      "div",
      { class: "map-layer" },
      label,
      tableButton(layer),
      layerMenu(map, layer, range, exportFormats),
    );
    // A file that is dropped here is imported into the layer.
    const target = layer.editable ? { "data-import-into": id, "data-import-label": name } : {};
    return el("li", target, row, key, outOfZoom);
  }

  function tableButton(layer: LayerConfig): HTMLElement {
    const label = t("script-map-table-of", { name: layer.name });
    const table = button(label, { icon: "table", onlyIcon: true, kind: "plain" });
    table.dataset.table = layer.id;
    // The shortcut opens the table of the first layer.
    if (layer === layers[0]) table.dataset.key = "t";
    table.addEventListener("click", () => onTable(layer));
    return table;
  }

  return {
    element,
    visibleLayers: () => layers.map(({ id }) => id).filter((id) => !state.hidden.includes(id)),
    setStatuses(statuses) {
      const sorted = [...statuses].sort(([one], [other]) => one.localeCompare(other));
      legend.replaceChildren(...sorted.map(([name, color]) => el("li", {}, dot(color), name)));
    },
  };
}

function lockMark(): HTMLElement {
  const title = t("script-map-layer-locked-hint");
  return el(
    "span",
    { class: "map-lock", title },
    icon("lock"),
    el("span", { class: "visually-hidden" }, t("script-map-layer-locked")),
  );
}

/** The menu of a layer: its opacity, zoom to it, its style and its check in the settings, its export and imports into it. */
function layerMenu(
  map: MapLibre,
  layer: LayerConfig,
  range: HTMLElement,
  exportFormats: [string, string][],
): HTMLElement {
  const { name, bounds, settings, check } = layer;
  const title = t("script-map-layer-menu", { name });
  const opacity = el("label", { class: "small" }, t("script-map-layer-opacity-label"), range);
  const items = el("div", { class: "map-layer-menu-items" }, opacity);
  const menu = el(
    "details",
    { class: "map-layer-menu" },
    el("summary", { class: "button plain only-icon", "aria-label": title, title }, icon("more")),
    items,
  );
  if (bounds) {
    const zoom = button(t("script-map-layer-zoom-to", { name }), { icon: "target", kind: "plain small" });
    zoom.addEventListener("click", () => zoomTo(map, bounds));
    items.append(zoom);
  }
  if (settings)
    items.append(el("a", { class: "button plain small", href: settings }, t("script-map-layer-style")));
  items.append(el("a", { class: "button plain small", href: check }, t("script-map-layer-check")));
  const form = exportForm(layer, exportFormats);
  if (form) items.append(form);
  if (layer.editable) {
    const href = `/imports?into=${layer.id}`;
    items.append(el("a", { class: "button plain small", href }, t("script-map-import")));
  }
  return menu;
}

export function zoomTo(map: MapLibre, bounds: Bounds): void {
  const padding = map.getContainer().clientWidth > 600 ? 72 : 32;
  map.fitBounds(bounds, { padding, maxZoom: 17, duration: 0 });
}

function checkbox(checked: boolean): HTMLInputElement {
  return Object.assign(el("input", { type: "checkbox" }), { checked });
}
