// The panel of layers: the legend, what is shown and how strongly, and the way to each.

import type { Map as MapLibre } from "maplibre-gl";
import { readAddress, writeAddress } from "./address";
import type { Bounds, LayerConfig } from "./config";
import { button, el, icon, swatch } from "./elements";
import { fadeLayer, showLayer } from "./layers";
import { panelState, rememberPanel } from "./remembered";

export interface Panel {
  element: HTMLElement;
  /** The statuses of the folders in view, under the folders' own line. */
  legend(statuses: Map<string, string>): void;
}

export interface FoldersLayer {
  show(visible: boolean): void;
}

export function layersPanel(map: MapLibre, layers: LayerConfig[], folders: FoldersLayer | null): Panel {
  const state = panelState();
  // A link goes before what is remembered, which stays until something is shown or hidden here.
  let kept = state.hidden;
  const told = readAddress("hidden");
  if (told !== null) {
    const names = told.split(",");
    state.hidden = layers.filter(({ slug }) => names.includes(slug)).map(({ id }) => id);
    if (names.includes("folders")) state.hidden.push("folders");
  }
  const details = el("details", { class: "map-panel", ...(state.open ? { open: true } : {}) });
  details.append(el("summary", {}, icon("layers"), "Layers"));
  const list = el("ul", {});
  details.append(list);
  const remember = () => rememberPanel({ ...state, hidden: kept });
  details.addEventListener("toggle", () => {
    state.open = details.open;
    remember();
  });

  const setHidden = (id: string, hidden: boolean) => {
    state.hidden = state.hidden.filter((one) => one !== id);
    if (hidden) state.hidden.push(id);
    kept = state.hidden;
    remember();
    const slugs = layers.filter((layer) => state.hidden.includes(layer.id)).map(({ slug }) => slug);
    if (state.hidden.includes("folders")) slugs.unshift("folders");
    writeAddress("hidden", slugs.join(","));
  };

  const legend = el("ul", { class: "map-legend" });
  if (folders) {
    const check = checkbox(!state.hidden.includes("folders"));
    const apply = () => {
      folders.show(check.checked);
      legend.hidden = !check.checked;
    };
    check.addEventListener("change", () => {
      apply();
      setHidden("folders", !check.checked);
    });
    apply();
    list.append(
      el(
        "li",
        {},
        el("div", { class: "map-layer" }, el("label", {}, check, icon("folders"), "Folders")),
        legend,
      ),
    );
  }

  for (const layer of layers) {
    const check = checkbox(!state.hidden.includes(layer.id));
    const opacity = state.opacity[layer.id] ?? 1;
    const range = el("input", {
      type: "range",
      min: "10",
      max: "100",
      step: "5",
      value: String(Math.round(opacity * 100)),
      "aria-label": `Opacity of ${layer.name}`,
    });
    const show = () => {
      showLayer(map, layer, check.checked);
      range.disabled = !check.checked;
    };
    const fade = () => fadeLayer(map, layer, Number(range.value) / 100);
    check.addEventListener("change", () => {
      show();
      setHidden(layer.id, !check.checked);
    });
    range.addEventListener("input", () => {
      fade();
      state.opacity[layer.id] = Number(range.value) / 100;
      remember();
    });
    show();
    fade();
    const { bounds } = layer;
    const line = el("div", { class: "map-layer" }, el("label", {}, check, swatch(layer.color), layer.name));
    if (bounds) {
      const there = button(`Go to ${layer.name}`, { icon: "target", onlyIcon: true, kind: "plain" });
      there.addEventListener("click", () => goTo(map, bounds));
      line.append(there);
    }
    list.append(el("li", {}, line, range));
  }
  if (layers.length === 0)
    list.append(el("li", { class: "faint small" }, "No layers yet. Draw a shape, or import a file."));

  return {
    element: details,
    legend(statuses) {
      const lines = [...statuses].sort(([one], [other]) => one.localeCompare(other));
      legend.replaceChildren(...lines.map(([name, color]) => el("li", {}, swatch(color, true), name)));
    },
  };
}

/** Moves to what lies within, with room around it. */
export function goTo(map: MapLibre, bounds: Bounds): void {
  const padding = map.getContainer().clientWidth > 600 ? 72 : 32;
  map.fitBounds(bounds, { padding, maxZoom: 17, duration: 0 });
}

function checkbox(checked: boolean): HTMLInputElement {
  return Object.assign(el("input", { type: "checkbox" }), { checked });
}
