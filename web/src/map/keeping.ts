// The form of a shape that was drawn or changed: which folder it belongs to, in which layer, and what
// it is called; then it is sent.

import type { Geometry } from "geojson";
import type { Card } from "./card";
import type { FeatureFacts, Kept, LayerConfig, MapConfig } from "./config";
import { button, el } from "./elements";
import { folderField } from "./folder-field";
import { measuredText } from "./measure";
import { postJson, Refused } from "./requests";

const FITS: Record<string, string[]> = {
  Point: ["Point", "Mixed"],
  LineString: ["LineString", "Mixed"],
  Polygon: ["Polygon", "Mixed"],
};

export function keepShape(
  config: MapConfig,
  card: Card,
  geometry: Geometry,
  known: FeatureFacts | null,
  done: (kept: Kept) => void,
): void {
  const layers = config.layers.filter((layer) => layer.editable && fits(layer, geometry));
  const name = el("input", { id: "map-name", type: "text", maxlength: "200", autocomplete: "off" });
  const knownName = known?.properties.name;
  if (typeof knownName === "string") name.value = knownName;
  const layer = el("select", { id: "map-layer" });
  for (const one of layers) layer.append(el("option", { value: one.id }, one.name));
  if (!layers.some(({ slug }) => slug === "submissions"))
    layer.append(el("option", { value: "" }, "Submissions (new layer)"));
  const folder = folderField(config.search, known?.folder ?? config.folder);
  const wrong = el("p", { class: "error", role: "alert" });
  const save = button("Save", { kind: "primary" });
  save.type = "submit";
  const discard = button("Discard", { kind: "plain" });
  const form = el(
    "form",
    {},
    el("p", { class: "faint small num" }, measuredText(geometry)),
    folder.element,
    el(
      "div",
      { class: "field" },
      el("label", { for: "map-name" }, "Name ", el("span", { class: "optional" }, "optional")),
      name,
    ),
    known ? null : el("div", { class: "field" }, el("label", { for: "map-layer" }, "Layer"), layer),
    wrong,
    el("div", { class: "form-actions" }, save, discard),
  );
  discard.addEventListener("click", card.hide);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (folder.undecided()) {
      wrong.textContent = "Choose a folder from the list, or leave the field empty.";
      return;
    }
    save.disabled = true;
    wrong.textContent = "";
    const { name: _, ...others } = known?.properties ?? {};
    const properties = name.value.trim() === "" ? others : { ...others, name: name.value.trim() };
    try {
      const kept = await postJson<Kept>(config.save, {
        layer: known ? known.layerId : layer.value || null,
        folder: folder.chosen(),
        id: known?.id ?? null,
        feature: { type: "Feature", properties, geometry },
      });
      done(kept);
    } catch (error) {
      wrong.textContent =
        error instanceof Refused ? error.message : "The server cannot be reached. Nothing was saved.";
      save.disabled = false;
    }
  });
  card.show(known ? "Save the change" : "New shape", form);
  form.querySelector<HTMLInputElement>("input")?.focus();
}

/** A layer takes what is like the rest of it. */
function fits({ geometryType }: LayerConfig, { type }: Geometry): boolean {
  return geometryType === null || (FITS[type] ?? []).includes(geometryType);
}
