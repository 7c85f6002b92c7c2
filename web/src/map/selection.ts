// What is under a click (or, by keyboard, under the middle of the map): its facts, its folder, its
// outline on the map, and the ways to change it.

import type { Feature } from "geojson";
import type { GeoJSONSource, Map as MapLibre, MapGeoJSONFeature, PointLike } from "maplibre-gl";
import { said } from "../app/times";
import { readAddress, writeAddress } from "./address";
import { tinted } from "./canvas";
import type { Card } from "./card";
import type { FeatureFacts, FolderPoint, LayerConfig, MapConfig } from "./config";
import { button, el, swatch } from "./elements";
import { FOLDERS, folderOf } from "./folders";
import { partsOf, sourceOf } from "./layers";
import { measuredText } from "./measure";
import { address, getJson, Refused } from "./requests";

const SELECTED = "selected";
/** How far from a click something may be, in pixels. */
const REACH = 5;

export interface Selection {
  clear(): void;
  /** Shows what the address names, if it names something. */
  reopen(): Promise<void>;
}

export interface Actions {
  edit(facts: FeatureFacts): void;
  remove(facts: FeatureFacts): Promise<void>;
}

export function selection(
  map: MapLibre,
  config: MapConfig,
  card: Card,
  busy: () => boolean,
  actions: Actions,
): Selection {
  addOutline(map);
  const clickable = () => [
    ...(map.getLayer(FOLDERS) ? [FOLDERS] : []),
    ...config.layers.flatMap(partsOf).filter((id) => map.getLayer(id)),
  ];
  const at = (x: number, y: number): MapGeoJSONFeature[] => {
    const box: [PointLike, PointLike] = [
      [x - REACH, y - REACH],
      [x + REACH, y + REACH],
    ];
    return once(map.queryRenderedFeatures(box, { layers: clickable() }));
  };

  map.on("click", ({ point }) => {
    if (!busy()) void show(at(point.x, point.y), 0);
  });
  map.on("mousemove", ({ point }) => {
    if (!busy()) map.getCanvas().classList.toggle("over-feature", at(point.x, point.y).length > 0);
  });
  map.getCanvas().addEventListener("keydown", (event) => {
    if (busy()) return;
    if (event.key === "Enter") {
      event.preventDefault();
      const { clientWidth, clientHeight } = map.getContainer();
      void show(at(clientWidth / 2, clientHeight / 2), 0);
    } else if (event.key === "Escape") {
      card.hide();
    }
  });

  const clear = () => {
    outline(map, null);
    writeAddress("feature", null);
  };

  async function show(found: MapGeoJSONFeature[], index: number): Promise<void> {
    const feature = found[index];
    if (!feature) {
      card.hide();
      return;
    }
    const others = found.length > 1 ? stepper(found, index) : null;
    if (feature.source === FOLDERS) {
      showFolder(folderOf(feature), others);
      return;
    }
    const layer = config.layers.find((one) => sourceOf(one) === feature.source);
    if (layer && feature.id !== undefined) await showFeature(layer, feature.id, others);
  }

  function showFolder(folder: FolderPoint, others: HTMLElement | null): void {
    const { reference, name, status, color, url } = folder;
    outline(map, null);
    writeAddress("feature", `${FOLDERS}/${reference}`);
    card.show(
      name,
      el("p", {}, el("span", { class: "ref" }, reference), " "),
      el("p", {}, el("span", { class: "status" }, swatch(color, true), status)),
      el("div", { class: "form-actions" }, el("a", { class: "button", href: url }, "Open the folder")),
      others,
    );
  }

  async function showFeature(
    layer: LayerConfig,
    featureId: string | number,
    others: HTMLElement | null,
  ): Promise<void> {
    writeAddress("feature", `${layer.slug}/${featureId}`);
    try {
      const facts = await getJson<FeatureFacts>(address(config.feature, { layerId: layer.id, featureId }));
      if (facts.geometry) outline(map, { type: "Feature", properties: {}, geometry: facts.geometry });
      card.show(facts.title ?? layer.name, ...describe(layer, facts), others);
    } catch (error) {
      card.show(
        layer.name,
        el(
          "p",
          { class: "error" },
          error instanceof Refused ? error.message : "The server cannot be reached.",
        ),
      );
    }
  }

  async function reopen(): Promise<void> {
    const [, where, which] = /^([^/]+)\/(.+)$/.exec(readAddress("feature") ?? "") ?? [];
    if (!where || !which) return;
    const layer = config.layers.find(({ slug }) => slug === where);
    if (layer) {
      await showFeature(layer, which, null);
      return;
    }
    if (where !== FOLDERS) return;
    // Folders come with the view: this one is there when they are.
    await map.once("idle");
    const points = map.querySourceFeatures(FOLDERS, { filter: ["==", ["get", "reference"], which] });
    if (points[0] && !busy()) showFolder(points[0].properties as FolderPoint, null);
  }

  function stepper(found: MapGeoJSONFeature[], index: number): HTMLElement {
    const next = button("Next here", { kind: "plain small" });
    next.addEventListener("click", () => void show(found, (index + 1) % found.length));
    return el("p", { class: "map-stepper faint small" }, `${index + 1} of ${found.length} here`, next);
  }

  function describe(layer: LayerConfig, facts: FeatureFacts): (Node | null)[] {
    const folder = facts.folder
      ? el(
          "p",
          {},
          el("a", { href: facts.folder.url }, facts.folder.name),
          " ",
          el("span", { class: "ref" }, facts.folder.reference),
        )
      : null;
    const measured = facts.geometry ? measuredText(facts.geometry) : "";
    const rows = el("dl", { class: "rows" });
    const row = (name: string, value: Node | string) => rows.append(el("dt", {}, name), el("dd", {}, value));
    for (const [name, value] of Object.entries(facts.properties)) {
      if (value !== null) row(name, typeof value === "object" ? JSON.stringify(value) : String(value));
    }
    if (measured) row("Measured", measured);
    row("Layer", el("span", { class: "status" }, swatch(layer.color, true), layer.name));
    const changed = new Date(facts.updatedAt);
    row(
      "Changed",
      el("time", { datetime: facts.updatedAt, title: changed.toLocaleString() }, said(changed, new Date())),
    );
    return [folder, rows, facts.editable && config.canEdit ? changing(facts) : null];
  }

  function changing(facts: FeatureFacts): HTMLElement {
    const edit = button("Edit", { icon: "edit" });
    edit.addEventListener("click", () => actions.edit(facts));
    const remove = button("Delete", { kind: "plain" });
    const line = el("div", { class: "form-actions" }, edit, remove);
    remove.addEventListener("click", () => {
      const sure = button("Delete this shape", { kind: "danger" });
      const keep = button("Keep it", { kind: "plain" });
      const word = el("p", { class: "error", role: "alert" });
      keep.addEventListener("click", () => line.replaceChildren(edit, remove));
      sure.addEventListener("click", async () => {
        sure.disabled = true;
        try {
          await actions.remove(facts);
        } catch (error) {
          sure.disabled = false;
          word.textContent = error instanceof Refused ? error.message : "The server cannot be reached.";
          line.append(word);
        }
      });
      line.replaceChildren(sure, keep);
      sure.focus();
    });
    return line;
  }

  return { clear, reopen };
}

function addOutline(map: MapLibre): void {
  map.addSource(SELECTED, { type: "geojson", data: { type: "FeatureCollection", features: [] } });
  map.addLayer({
    id: "selected-area",
    type: "fill",
    source: SELECTED,
    filter: ["==", ["geometry-type"], "Polygon"],
    paint: { "fill-opacity": 0.2 },
  });
  map.addLayer({ id: "selected-line", type: "line", source: SELECTED, paint: { "line-width": 2.5 } });
  map.addLayer({
    id: "selected-point",
    type: "circle",
    source: SELECTED,
    filter: ["==", ["geometry-type"], "Point"],
    paint: { "circle-radius": 8, "circle-opacity": 0.25, "circle-stroke-width": 2.5 },
  });
  tinted(({ accent }) => {
    map.setPaintProperty("selected-area", "fill-color", accent);
    map.setPaintProperty("selected-line", "line-color", accent);
    map.setPaintProperty("selected-point", "circle-color", accent);
    map.setPaintProperty("selected-point", "circle-stroke-color", accent);
  });
}

function outline(map: MapLibre, feature: Feature | null): void {
  map
    .getSource<GeoJSONSource>(SELECTED)
    ?.setData({ type: "FeatureCollection", features: feature ? [feature] : [] });
}

/** A shape is drawn by several parts and cut by tiles, and is still one. */
function once(features: MapGeoJSONFeature[]): MapGeoJSONFeature[] {
  const seen = new Set<string>();
  return features.filter(({ source, id, properties }) => {
    const key = `${source} ${id ?? String(properties.reference)}`;
    return !seen.has(key) && Boolean(seen.add(key));
  });
}
