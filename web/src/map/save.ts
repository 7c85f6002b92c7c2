// The form that saves a shape: its folder, name, layer, declared fields and other attributes. It warns about a polygon that crosses
// itself and offers to repair it.

import type { Geometry, Position } from "geojson";
import { button, el } from "../dom";
import { t } from "../messages";
import { createAttributeEditor } from "./attributes";
import type { Card } from "./card";
import type { FeatureDetails, LayerConfig, MapConfig, ShapeChange } from "./config";
import { createDeclaredInputs } from "./declared-fields";
import { createFolderCombobox } from "./folder-combobox";
import type { DeclaredField } from "./layer-style";
import { formatSize } from "./measure";
import { findCrossings, repairPolygon } from "./polygon-operations";
import { errorMessage, postJson, RequestError } from "./requests";

export interface SaveFormOptions {
  title: string;
  geometry: Geometry | null;
  /** The feature that is changed, or null for a new one. */
  existing: FeatureDetails | null;
  /** Shows on the map where the shape crosses itself. */
  onCrossings?: (positions: Position[]) => void;
  onRepaired?: (geometry: Geometry) => void;
  onSaved: (change: ShapeChange) => void;
  onDiscard: () => void;
}

export function showSaveForm(config: MapConfig, card: Card, options: SaveFormOptions): void {
  const { existing, onSaved, onDiscard } = options;
  let { geometry } = options;
  const folder = createFolderCombobox({
    id: "map-folder",
    searchUrl: config.search,
    placeholder: t("script-map-folder-placeholder"),
    initial: existing ? existing.folder : config.folder,
  });
  const name = el("input", { id: "map-name", type: "text", maxlength: "200", autocomplete: "off" });
  const oldName = existing?.properties["name"];
  // A name that is not a text stays with the other attributes.
  const isNameText = oldName === undefined || typeof oldName === "string";
  if (typeof oldName === "string") name.value = oldName;
  const layer = layerSelect(config.layers, geometry);
  const fields = () => fieldsOf(config.layers, existing?.layerId ?? layer.value);
  const declaresName = () => fields().some((one) => one.name === "name");
  const reserved = () => ["name", ...fields().map((one) => one.name)];
  const others = Object.entries(existing?.properties ?? {}).filter(([key]) => !reserved().includes(key));
  const attributes = createAttributeEditor(
    Object.fromEntries(others),
    fields().length > 0 ? t("script-map-attribute-others") : t("script-map-attributes"),
    reserved,
  );
  const nameField = field("map-name", t("script-map-name"), true, name);
  let declared = createDeclaredInputs([], null);
  const showFields = () => {
    const next = createDeclaredInputs(fields(), existing?.properties ?? null);
    declared.element.replaceWith(next.element);
    declared = next;
    nameField.hidden = declaresName();
  };
  layer.addEventListener("change", showFields);
  const size = el("p", { class: "faint small num" }, geometry ? formatSize(geometry) : "");
  const error = el("p", { class: "error", role: "alert" });
  const save = button(t("script-map-save"), { kind: "primary" });
  save.type = "submit";
  const discard = button(t("script-map-discard"), { kind: "plain" });
  discard.addEventListener("click", onDiscard);
  const warning = el("div", { class: "map-warning", role: "alert" });
  const checkCrossings = () => {
    const crossings = geometry ? findCrossings(geometry) : [];
    options.onCrossings?.(crossings);
    save.classList.toggle("primary", crossings.length === 0);
    save.textContent = crossings.length > 0 ? t("script-map-save-anyway") : t("script-map-save");
    warning.hidden = crossings.length === 0;
    if (crossings.length > 0)
      warning.replaceChildren(
        el("p", {}, t("script-map-crossings", { count: crossings.length })),
        repairButton(),
      );
  };
  const repairButton = () => {
    const repair = button(t("script-map-repair"));
    repair.addEventListener("click", () => {
      const repaired = geometry && repairPolygon(geometry);
      if (!repaired) {
        error.textContent = t("script-map-repair-empty");
        return;
      }
      geometry = repaired;
      size.textContent = formatSize(repaired);
      options.onRepaired?.(repaired);
      checkCrossings();
      save.focus();
    });
    return repair;
  };
  const form = el(
    "form",
    { class: "map-save" },
    size,
    options.onCrossings ? warning : null,
    field("map-folder", t("script-map-folder"), true, folder.input, folder.list),
    nameField,
    existing ? null : field("map-layer", t("script-map-layer"), false, layer),
    declared.element,
    attributes.element,
    error,
    el("div", { class: "form-actions" }, save, discard),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (folder.isUnresolved()) {
      error.textContent = t("script-map-folder-not-selected");
      return;
    }
    const declaredValues = declared.read();
    const otherValues = attributes.read();
    if (!declaredValues || !otherValues) return;
    save.disabled = true;
    error.textContent = "";
    const newName = name.value.trim();
    const named = declaresName() || newName === "" ? {} : { name: newName };
    const properties: Record<string, unknown> = { ...named, ...declaredValues, ...otherValues };
    if (!declaresName() && !isNameText && newName === "") properties["name"] = oldName;
    try {
      const change = await postJson<ShapeChange>(config.save, {
        layer: existing ? existing.layerId : layer.value || null,
        folder: folder.selected(),
        id: existing?.id ?? null,
        feature: { type: "Feature", properties, geometry },
      });
      onSaved(change);
    } catch (reason) {
      const problems = reason instanceof RequestError ? reason.problems : {};
      const isAboutFields = Object.keys(problems).length > 0;
      error.textContent = isAboutFields ? declared.showProblems(problems).join(" ") : errorMessage(reason);
      save.disabled = false;
    }
  });
  showFields();
  if (options.onCrossings) checkCrossings();
  card.show(options.title, form);
  folder.input.focus();
}

function field(id: string, label: string, isOptional: boolean, ...inputs: HTMLElement[]): HTMLElement {
  const optional = isOptional && el("span", { class: "optional" }, t("script-map-optional"));
  return el("div", { class: "field" }, el("label", { for: id }, label, " ", optional), ...inputs);
}

function fieldsOf(layers: LayerConfig[], id: string): DeclaredField[] {
  return layers.find((one) => one.id === id)?.fields ?? [];
}

/** The layers that a shape can be saved in. The empty value makes the server create the layer for submissions. */
function layerSelect(layers: LayerConfig[], geometry: Geometry | null): HTMLSelectElement {
  const select = el("select", { id: "map-layer" });
  const suitable = layers.filter((one) => one.editable && accepts(one, geometry));
  for (const { id, name } of suitable) select.append(el("option", { value: id }, name));
  if (!layers.some(({ slug }) => slug === "submissions"))
    select.append(el("option", { value: "" }, t("script-map-layer-new-submissions")));
  return select;
}

/** Whether a layer accepts geometries of this type. */
function accepts({ geometryType }: LayerConfig, geometry: Geometry | null): boolean {
  const type = geometry?.type.replace(/^Multi/, "");
  return geometryType === null || geometryType === "Mixed" || geometryType === type;
}
