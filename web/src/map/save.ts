// The form that saves a drawn or edited shape: its folder, its name and its layer.

import type { Geometry } from "geojson";
import { button, el } from "../dom";
import { t } from "../messages";
import type { Card } from "./card";
import type { FeatureDetails, LayerConfig, MapConfig, ShapeChange } from "./config";
import { createFolderCombobox } from "./folder-combobox";
import { formatSize } from "./measure";
import { errorMessage, postJson } from "./requests";

/** `existing` is the feature whose shape was edited, or null for a new one. */
export function showSaveForm(
  config: MapConfig,
  card: Card,
  geometry: Geometry,
  existing: FeatureDetails | null,
  onSaved: (change: ShapeChange) => void,
): void {
  const folder = createFolderCombobox(config.search, existing?.folder ?? config.folder);
  const name = el("input", { id: "map-name", type: "text", maxlength: "200", autocomplete: "off" });
  const { name: oldName, ...otherProperties } = existing?.properties ?? {};
  if (typeof oldName === "string") name.value = oldName;
  const layer = layerSelect(config.layers.filter((one) => one.editable && accepts(one, geometry)));
  const error = el("p", { class: "error", role: "alert" });
  const save = button(t("script-map-save"), { kind: "primary" });
  save.type = "submit";
  const discard = button(t("script-map-discard"), { kind: "plain" });
  discard.addEventListener("click", card.hide);
  const optional = el("span", { class: "optional" }, t("script-map-optional"));
  const form = el(
    "form",
    {},
    el("p", { class: "faint small num" }, formatSize(geometry)),
    folder.element,
    el(
      "div",
      { class: "field" },
      el("label", { for: "map-name" }, t("script-map-name"), " ", optional),
      name,
    ),
    existing
      ? null
      : el("div", { class: "field" }, el("label", { for: "map-layer" }, t("script-map-layer")), layer),
    error,
    el("div", { class: "form-actions" }, save, discard),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (folder.isUnresolved()) {
      error.textContent = t("script-map-folder-not-selected");
      return;
    }
    save.disabled = true;
    error.textContent = "";
    const newName = name.value.trim();
    const properties = newName === "" ? otherProperties : { ...otherProperties, name: newName };
    try {
      const change = await postJson<ShapeChange>(config.save, {
        layer: existing ? existing.layerId : layer.value || null,
        folder: folder.selected(),
        id: existing?.id ?? null,
        feature: { type: "Feature", properties, geometry },
      });
      onSaved(change);
    } catch (reason) {
      error.textContent = errorMessage(reason);
      save.disabled = false;
    }
  });
  card.show(existing ? t("script-map-shape-edit") : t("script-map-shape-new"), form);
  form.querySelector<HTMLInputElement>("input")?.focus();
}

/** The empty value makes the server create the layer for submissions. */
function layerSelect(layers: LayerConfig[]): HTMLSelectElement {
  const select = el("select", { id: "map-layer" });
  for (const { id, name } of layers) select.append(el("option", { value: id }, name));
  if (!layers.some(({ slug }) => slug === "submissions"))
    select.append(el("option", { value: "" }, t("script-map-layer-new-submissions")));
  return select;
}

/** Whether a layer accepts geometries of this type. */
function accepts({ geometryType }: LayerConfig, { type }: Geometry): boolean {
  return geometryType === null || geometryType === "Mixed" || geometryType === type;
}
