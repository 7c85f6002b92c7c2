// The form that exports a layer: its format and its reference system.

import { el } from "../dom";
import { t } from "../messages";
import type { LayerConfig } from "./config";

export function exportForm(layer: LayerConfig, formats: [string, string][]): HTMLElement | null {
  if (!layer.export) return null;
  return el(
    "details",
    { class: "map-layer-export" },
    el("summary", { class: "button plain small" }, t("script-map-export")),
    el(
      "form",
      { method: "get", action: layer.export.url, "data-download": true },
      choice("format", t("script-map-export-format"), formats),
      choice("crs", t("script-map-export-crs"), layer.export.systems),
      el("button", { class: "button small", type: "submit" }, t("script-map-export-download")),
    ),
  );
}

function choice(name: string, label: string, options: [string, string][]): HTMLElement {
  const items = options.map(([value, text]) => el("option", { value }, text));
  return el("label", { class: "small" }, label, el("select", { name }, ...items));
}
