// Selects the feature or folder at a click, or with Enter at the center of the map. Shows its details in
// the card, outlines it on the map, and offers to edit or delete it.

import type { Feature, Geometry } from "geojson";
import type { GeoJSONSource, Map as MapLibre, MapGeoJSONFeature, PointLike } from "maplibre-gl";
import { showToast } from "../app/toasts";
import { button, dot, el } from "../dom";
import { t } from "../messages";
import type { Card } from "./card";
import type { FeatureDetails, FolderPoint, LayerConfig, MapConfig } from "./config";
import { featureDetails, type FeatureActions } from "./feature-details";
import { FOLDERS } from "./folder-points";
import { sourceId, styleLayerIds } from "./layers";
import { withPalette } from "./palette";
import { errorMessage, expandUrl, getJson } from "./requests";
import { readUrlState, writeUrlState } from "./url-state";

const SELECTED = "selected";
/** How far from a feature a click may be, in pixels. */
const TOLERANCE = 5;

export interface SelectedFeature {
  layerId: string;
  featureId: number;
}

export interface Selection {
  clear(): void;
  /** Selects a feature and shows its details, unless the user draws. */
  select(layerId: string, featureId: number): Promise<void>;
  /** Calls a function with the selected feature, or null, whenever it changes. */
  onChange(listener: (selected: SelectedFeature | null) => void): void;
  /** Outlines a geometry without selecting it. */
  outline(geometry: Geometry | null): void;
  /** Passes the feature of a layer at the next click, or at Enter, to `onPick` instead of selecting it. */
  pick(layerId: string, onPick: (feature: FeatureDetails) => void): void;
  cancelPick(): void;
  /** Selects the feature that the URL names. */
  restore(): Promise<void>;
}

/** `isDrawing` turns selection off while the user draws. */
export function createSelection(
  map: MapLibre,
  config: MapConfig,
  card: Card,
  isDrawing: () => boolean,
  actions: FeatureActions,
): Selection {
  addOutlineLayers(map);
  const listeners: ((selected: SelectedFeature | null) => void)[] = [];
  const notify = (selected: SelectedFeature | null) => listeners.forEach((listener) => listener(selected));
  /** Counts selections, so that a late response does not replace a later one. */
  let latest = 0;
  let picking: { layerId: string; onPick: (feature: FeatureDetails) => void } | null = null;
  const featuresAt = (x: number, y: number): MapGeoJSONFeature[] => {
    const box: [PointLike, PointLike] = [
      [x - TOLERANCE, y - TOLERANCE],
      [x + TOLERANCE, y + TOLERANCE],
    ];
    const layers = [FOLDERS, ...config.layers.flatMap(styleLayerIds)].filter((id) => map.getLayer(id));
    return unique(map.queryRenderedFeatures(box, { layers }));
  };

  const choose = (x: number, y: number) => {
    if (picking) void pickAt(x, y);
    else if (!isDrawing()) void show(featuresAt(x, y), 0);
  };
  map.on("click", ({ point }) => choose(point.x, point.y));
  map.on("mousemove", ({ point }) => {
    if (isDrawing() && !picking) return;
    map.getCanvas().classList.toggle("over-feature", featuresAt(point.x, point.y).length > 0);
  });
  map.getCanvas().addEventListener("keydown", (event) => {
    if (isDrawing() && !picking) return;
    if (event.key === "Enter") {
      event.preventDefault();
      const { clientWidth, clientHeight } = map.getContainer();
      choose(clientWidth / 2, clientHeight / 2);
    } else if (event.key === "Escape") {
      card.hide();
    }
  });

  async function pickAt(x: number, y: number): Promise<void> {
    const layer = config.layers.find(({ id }) => id === picking?.layerId);
    const found = featuresAt(x, y).find(({ source }) => layer && source === sourceId(layer));
    if (!layer || found?.id === undefined) return;
    try {
      const feature = await loadFeature(layer, found.id);
      picking?.onPick(feature);
    } catch (error) {
      showToast(errorMessage(error), { isError: true });
    }
  }

  const loadFeature = (layer: LayerConfig, featureId: string | number) =>
    getJson<FeatureDetails>(expandUrl(config.feature, { layerId: layer.id, featureId }));

  /** Shows one of the features at a place. */
  async function show(features: MapGeoJSONFeature[], index: number): Promise<void> {
    const feature = features[index];
    if (!feature) {
      card.hide();
      return;
    }
    const stepper = features.length > 1 ? createStepper(features, index) : null;
    if (feature.source === FOLDERS) {
      showFolder(feature.properties as FolderPoint, stepper);
      return;
    }
    const layer = config.layers.find((one) => sourceId(one) === feature.source);
    if (layer && feature.id !== undefined) await showFeature(layer, feature.id, stepper);
  }

  function showFolder(folder: FolderPoint, stepper: HTMLElement | null): void {
    const { reference, name, status, color, url } = folder;
    latest += 1;
    setOutline(map, null);
    writeUrlState("feature", `${FOLDERS}/${reference}`);
    notify(null);
    const open = el("a", { class: "button", href: url }, t("script-map-folder-open"));
    card.show(
      name,
      el("p", {}, el("span", { class: "ref" }, reference)),
      el("p", {}, el("span", { class: "status" }, dot(color), status)),
      el("div", { class: "form-actions" }, open),
      stepper,
    );
  }

  async function showFeature(
    layer: LayerConfig,
    featureId: string | number,
    stepper: HTMLElement | null,
  ): Promise<void> {
    writeUrlState("feature", `${layer.slug}/${featureId}`);
    latest += 1;
    const current = latest;
    try {
      const feature = await loadFeature(layer, featureId);
      if (current !== latest) return;
      notify({ layerId: layer.id, featureId: feature.featureId });
      const { geometry, title, editable } = feature;
      if (geometry) setOutline(map, { type: "Feature", properties: {}, geometry });
      const details = featureDetails(feature, layer, editable && config.canEdit ? actions : null);
      card.show(title ?? layer.name, ...details, stepper);
    } catch (error) {
      card.show(layer.name, el("p", { class: "error" }, errorMessage(error)));
    }
  }

  function createStepper(features: MapGeoJSONFeature[], index: number): HTMLElement {
    const next = button(t("script-map-stepper-next"), { kind: "plain small" });
    next.addEventListener("click", () => void show(features, (index + 1) % features.length));
    const position = t("script-map-stepper-position", { index: index + 1, count: features.length });
    return el("p", { class: "map-stepper faint small" }, position, next);
  }

  return {
    clear() {
      latest += 1;
      setOutline(map, null);
      writeUrlState("feature", null);
      notify(null);
    },
    async select(layerId, featureId) {
      const layer = config.layers.find(({ id }) => id === layerId);
      if (layer && !isDrawing()) await showFeature(layer, featureId, null);
    },
    onChange(listener) {
      listeners.push(listener);
    },
    outline(geometry) {
      setOutline(map, geometry && { type: "Feature", properties: {}, geometry });
    },
    pick(layerId, onPick) {
      picking = { layerId, onPick };
    },
    cancelPick() {
      picking = null;
    },
    async restore() {
      const [, slug, id] = /^([^/]+)\/(.+)$/.exec(readUrlState("feature") ?? "") ?? [];
      if (!slug || !id) return;
      const layer = config.layers.find((one) => one.slug === slug);
      if (layer) {
        await showFeature(layer, id, null);
        return;
      }
      if (slug !== FOLDERS) return;
      // The folders in view are loaded when the map is idle.
      await map.once("idle");
      const [point] = map.querySourceFeatures(FOLDERS, { filter: ["==", ["get", "reference"], id] });
      if (point && !isDrawing()) showFolder(point.properties as FolderPoint, null);
    },
  };
}

function addOutlineLayers(map: MapLibre): void {
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
  withPalette(({ accent }) => {
    map.setPaintProperty("selected-area", "fill-color", accent);
    map.setPaintProperty("selected-line", "line-color", accent);
    map.setPaintProperty("selected-point", "circle-color", accent);
    map.setPaintProperty("selected-point", "circle-stroke-color", accent);
  });
}

function setOutline(map: MapLibre, feature: Feature | null): void {
  map
    .getSource<GeoJSONSource>(SELECTED)
    ?.setData({ type: "FeatureCollection", features: feature ? [feature] : [] });
}

/** Removes duplicates: a feature has one entry for each style layer and each tile that it is in. */
function unique(features: MapGeoJSONFeature[]): MapGeoJSONFeature[] {
  const seen = new Set<string>();
  return features.filter(({ source, id, properties }) => {
    const key = `${source} ${id ?? String(properties.reference)}`;
    return !seen.has(key) && Boolean(seen.add(key));
  });
}
