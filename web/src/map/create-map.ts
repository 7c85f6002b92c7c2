// Creates a MapLibre map with everything that all maps of the application share: the worker script, the
// built-in base map or the configured style, the scale, and translated labels.

import {
  type MapOptions,
  Map as MapLibre,
  ScaleControl,
  setWorkerCount,
  setWorkerUrl,
  type StyleSpecification,
} from "maplibre-gl";
import { t } from "../messages";
import { baseStyle, loadBaseMap, setBaseMapColors } from "./basemap";
import type { MapConfig } from "./config";
import { withPalette } from "./palette";

/** Resolves when layers can be added to the map. */
export async function createMap(
  element: HTMLElement,
  config: MapConfig,
  options: Omit<MapOptions, "container" | "style">,
): Promise<MapLibre> {
  setWorkerUrl(new URL(asset("map-worker.js"), location.origin).href);
  // With a single worker, tiles would wait until the base map is processed.
  setWorkerCount(Math.min(4, Math.max(2, Math.floor(navigator.hardwareConcurrency / 2))));
  const style: StyleSpecification | string = config.style ?? baseStyle();
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const map = new MapLibre({
    container: element,
    style,
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
  // Tests wait for this state.
  map.on("dataloading", () => (element.dataset.state = "loading"));
  map.on("idle", () => (element.dataset.state = "ready"));
  map.addControl(new ScaleControl({ maxWidth: 110 }), "bottom-left");
  const hasCustomStyle = await waitForStyle(map, config.style !== null);
  // MapLibre opens the attribution at first; the button that opens it is enough.
  element.querySelector(".maplibregl-ctrl-attrib")?.classList.remove("maplibregl-compact-show");
  if (!hasCustomStyle) {
    loadBaseMap(map).catch((error: unknown) => console.warn("The base map could not be loaded:", error));
    withPalette((colors) => setBaseMapColors(map, colors));
  }
  return map;
}

/**
 * Waits until the style is loaded. If a custom style cannot be loaded, the built-in one replaces it.
 * Returns whether the map shows the custom style.
 */
async function waitForStyle(map: MapLibre, isCustom: boolean): Promise<boolean> {
  const load = new Promise<void>((resolve) => map.once("load", () => resolve()));
  if (!isCustom) return load.then(() => false);
  return new Promise((resolve) => {
    const onError = (event: object) => {
      if (map.isStyleLoaded()) return;
      map.off("error", onError);
      console.warn("The configured map style could not be loaded; using the built-in base map:", event);
      map.setStyle(baseStyle());
      void load.then(() => resolve(false));
    };
    map.on("error", onError);
    void load.then(() => {
      map.off("error", onError);
      resolve(true);
    });
  });
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
