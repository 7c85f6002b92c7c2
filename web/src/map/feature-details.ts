// The details of a feature in the card: its folder, its properties, and buttons to change or delete it.

import { relativeTime } from "../app/relative-time";
import { button, dot, el } from "../dom";
import { t } from "../messages";
import type { FeatureDetails, LayerConfig } from "./config";
import { formatSize } from "./measure";
import { errorMessage } from "./requests";
import { canJoin, canSplit } from "./split-join";

export interface FeatureActions {
  edit(feature: FeatureDetails): void;
  editAttributes(feature: FeatureDetails): void;
  split(feature: FeatureDetails): void;
  join(feature: FeatureDetails): void;
  delete(feature: FeatureDetails): Promise<void>;
}

/** Without `actions`, the feature cannot be edited. */
export function featureDetails(
  feature: FeatureDetails,
  layer: LayerConfig,
  actions: FeatureActions | null,
): (Node | null)[] {
  const { folder } = feature;
  const folderLink =
    folder &&
    el(
      "p",
      {},
      el("a", { href: folder.url }, folder.name),
      " ",
      el("span", { class: "ref" }, folder.reference),
    );
  const locked = layer.locked && el("p", { class: "hint" }, t("script-map-layer-locked-hint"));
  return [
    folderLink,
    propertyList(feature, layer),
    actions && actionButtons(feature, actions),
    locked || null,
  ];
}

function propertyList(feature: FeatureDetails, layer: LayerConfig): HTMLElement {
  const list = el("dl", { class: "rows" });
  const add = (name: string, value: Node | string) => list.append(el("dt", {}, name), el("dd", {}, value));
  for (const [name, value] of Object.entries(feature.properties)) {
    const unit = layer.fields.find((field) => field.name === name)?.unit;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    if (value !== null) add(name, unit ? `${text} ${unit}` : text);
  }
  const size = feature.geometry ? formatSize(feature.geometry) : "";
  if (size) add(t("script-map-size"), size);
  add(t("script-map-layer"), el("span", { class: "status" }, dot(layer.color), layer.name));
  const updated = new Date(feature.updatedAt);
  const attributes = { datetime: feature.updatedAt, title: updated.toLocaleString() };
  add(t("script-map-updated"), el("time", attributes, relativeTime(updated, new Date())));
  return list;
}

/** The actions that suit the feature. Delete asks for confirmation in the same place. */
function actionButtons(feature: FeatureDetails, actions: FeatureActions): HTMLElement {
  const action = (label: string, run: (feature: FeatureDetails) => void, options = {}) => {
    const element = button(label, options);
    element.addEventListener("click", () => run(feature));
    return element;
  };
  const changes = [action(t("script-map-edit"), actions.edit, { icon: "edit" })];
  changes.push(action(t("script-map-edit-attributes"), actions.editAttributes));
  if (canSplit(feature)) changes.push(action(t("script-map-split"), actions.split));
  if (canJoin(feature)) changes.push(action(t("script-map-join"), actions.join));
  const remove = button(t("script-map-delete"), { kind: "plain" });
  const confirm = button(t("script-map-shape-delete"), { kind: "danger" });
  const cancel = button(t("script-map-cancel"), { kind: "plain" });
  const error = el("p", { class: "error", role: "alert" });
  const row = el("div", { class: "form-actions" }, ...changes, remove);
  remove.addEventListener("click", () => {
    row.replaceChildren(confirm, cancel);
    confirm.focus();
  });
  cancel.addEventListener("click", () => row.replaceChildren(...changes, remove));
  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    try {
      await actions.delete(feature);
    } catch (reason) {
      confirm.disabled = false;
      error.textContent = errorMessage(reason);
      row.append(error);
    }
  });
  return row;
}
