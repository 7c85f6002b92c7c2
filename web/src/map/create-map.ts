// Creates a MapLibre map with everything that all maps of the application share: the worker script, the
// base maps, the scale, and translated labels.

import { type MapOptions, Map as MapLibre, ScaleControl, setWorkerCount, setWorkerUrl } from "maplibre-gl";
import { t } from "../messages";
import { type BaseMaps, createBaseMaps } from "./base-maps";
import { baseStyle, setBaseMapColors } from "./basemap";
import type { MapConfig } from "./config";
import { withPalette } from "./palette";

/** Resolves when layers can be added to the map. */
export async function createMap(
  element: HTMLElement,
  config: MapConfig,
  options: Omit<MapOptions, "container" | "style">,
): Promise<{ map: MapLibre; baseMaps: BaseMaps }> {
  setWorkerUrl(workerUrl());
  // With a single worker, tiles would wait until the base map is processed.
  setWorkerCount(Math.min(4, Math.max(2, Math.floor(navigator.hardwareConcurrency / 2))));
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const map = new MapLibre({
    container: element,
    style: baseStyle(),
    attributionControl: { compact: true },
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    fadeDuration: reducedMotion ? 0 : 150,
    maxZoom: 23,
    locale: controlLabels(),
    ...options,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  // For tests and for the console of the browser.
  Object.assign(element, { map });
  // Tests wait for this state.
  map.on("dataloading", () => (element.dataset.state = "loading"));
  map.on("idle", () => (element.dataset.state = "ready"));
  map.addControl(new ScaleControl({ maxWidth: 110 }), "bottom-left");
  await map.once("load");
  // MapLibre opens the attribution at first; for the built-in base map, the button that opens it is enough.
  element.querySelector(".maplibregl-ctrl-attrib")?.classList.remove("maplibregl-compact-show");
  withPalette((colors) => setBaseMapColors(map, colors));
  return { map, baseMaps: createBaseMaps(map, config.baseMaps) };
}

/**
 * A worker that starts from a blob has the Content-Security-Policy and the Referrer-Policy of the page. One
 * that starts from a file has none, and could load vector tiles from anywhere.
 */
function workerUrl(): string {
  const script = new URL(asset("map-worker.js"), location.origin).href;
  const source = new Blob([`import ${JSON.stringify(script)};`], { type: "text/javascript" });
  return URL.createObjectURL(source);
}

/** The labels of MapLibre's own controls. */
function controlLabels(): Record<string, string> {
  return {
    "Map.Title": t("script-map-title"),
    "AttributionControl.ToggleAttribution": t("script-map-toggle-attribution"),
    "GeolocateControl.FindMyLocation": t("script-map-find-location"),
    "GeolocateControl.LocationNotAvailable": t("script-map-location-unavailable"),
    "NavigationControl.ZoomIn": t("script-map-zoom-in"),
    "NavigationControl.ZoomOut": t("script-map-zoom-out"),
    "CooperativeGesturesHandler.WindowsHelpText": t("script-map-scroll-hint"),
    "CooperativeGesturesHandler.MacHelpText": t("script-map-scroll-hint-mac"),
    "CooperativeGesturesHandler.MobileHelpText": t("script-map-scroll-hint-touch"),
  };
}
