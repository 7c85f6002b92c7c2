// Splits a feature by a drawn line, and joins a feature with a neighbor. Both ask before they save.

import type { Feature, Geometry, LineString } from "geojson";
import { button, el } from "../dom";
import { t } from "../messages";
import type { Card } from "./card";
import type { FeatureDetails, MapConfig, ShapeChange } from "./config";
import { formatSize } from "./measure";
import { joinGeometries, splitGeometry } from "./polygon-operations";
import { errorMessage, postJson } from "./requests";
import { sketchOf } from "./sketch";

export function canSplit({ geometry }: FeatureDetails): boolean {
  const type = sketchOf(geometry)?.type;
  return type === "LineString" || type === "Polygon";
}

export function canJoin(feature: FeatureDetails): boolean {
  return canSplit(feature) && feature.geometry?.type !== "MultiLineString";
}

/** Returns whether the line splits the feature. */
export function confirmSplit(
  config: MapConfig,
  card: Card,
  feature: FeatureDetails,
  line: LineString,
  onSaved: (change: ShapeChange, message: string) => void,
  onCancel: () => void,
): boolean {
  const parts = feature.geometry && splitGeometry(feature.geometry, line);
  const [first, ...others] = parts ?? [];
  if (!parts || !first) return false;
  const save = async () => {
    const change = await saveShape(config, feature, first, {
      parts: others.map((geometry) => asFeature(feature, geometry)),
    });
    onSaved(change, t("script-map-split-done", { count: parts.length }));
  };
  const sizes = parts.map((part) => el("li", { class: "num" }, formatSize(part)));
  const text = t("script-map-split-text", { count: parts.length });
  const content = [el("p", {}, text), el("ol", { class: "map-parts" }, ...sizes)];
  confirm(card, t("script-map-split"), content, t("script-map-split"), save, onCancel);
  return true;
}

/** Returns whether the features adjoin. */
export function confirmJoin(
  config: MapConfig,
  card: Card,
  feature: FeatureDetails,
  other: FeatureDetails,
  onSaved: (change: ShapeChange, message: string) => void,
  onCancel: () => void,
): boolean {
  const joined = feature.geometry && other.geometry ? joinGeometries(feature.geometry, other.geometry) : null;
  if (!joined) return false;
  const save = async () => {
    const change = await saveShape(config, feature, joined, { joined: other.id });
    onSaved(change, t("script-map-join-done"));
  };
  const names = { kept: feature.title ?? "", deleted: other.title ?? "" };
  const text = names.kept && names.deleted ? t("script-map-join-named", names) : t("script-map-join-text");
  const content = [el("p", {}, text), el("p", { class: "num" }, formatSize(joined))];
  confirm(card, t("script-map-join-title"), content, t("script-map-join-confirm"), save, onCancel);
  return true;
}

function confirm(
  card: Card,
  title: string,
  content: HTMLElement[],
  label: string,
  save: () => Promise<void>,
  onCancel: () => void,
): void {
  const ok = button(label, { kind: "primary" });
  const cancel = button(t("script-map-cancel"), { kind: "plain" });
  const error = el("p", { class: "error", role: "alert" });
  cancel.addEventListener("click", onCancel);
  ok.addEventListener("click", async () => {
    ok.disabled = true;
    error.textContent = "";
    try {
      await save();
    } catch (reason) {
      error.textContent = errorMessage(reason);
      ok.disabled = false;
    }
  });
  card.show(title, ...content, error, el("div", { class: "form-actions" }, ok, cancel));
  ok.focus();
}

/** Saves a feature with another geometry, and the other shapes that change with it: all or nothing. */
function saveShape(
  config: MapConfig,
  feature: FeatureDetails,
  geometry: Geometry,
  others: { parts?: Feature[]; joined?: string },
): Promise<ShapeChange> {
  const { id, layerId } = feature;
  const body = { layer: layerId, id, feature: asFeature(feature, geometry), ...others };
  return postJson<ShapeChange>(config.save, body);
}

/** A shape with the attributes of a feature. */
function asFeature({ properties }: FeatureDetails, geometry: Geometry): Feature {
  return { type: "Feature", properties, geometry };
}
