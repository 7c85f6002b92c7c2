// A MapLibre map with what every map of the application has: the worker from our own address, the base
// map or an own style, the scale, and words for those who cannot see it.

import {
  type MapOptions,
  Map as MapLibre,
  ScaleControl,
  setWorkerCount,
  setWorkerUrl,
  type StyleSpecification,
} from "maplibre-gl";
import { baseStyle, fillBase, tintBase } from "./basemap";
import type { MapConfig } from "./config";
import { onThemeChange, palette, type Palette } from "./palette";

/** Makes the map and waits until layers may be added to it. */
export async function drawMap(
  element: HTMLElement,
  config: MapConfig,
  options: Omit<MapOptions, "container" | "style">,
): Promise<MapLibre> {
  setWorkerUrl(new URL(asset("map-worker.js"), location.origin).href);
  // With a single one, tiles would wait while it cuts the base map to pieces.
  setWorkerCount(Math.min(4, Math.max(2, Math.floor(navigator.hardwareConcurrency / 2))));
  const style: StyleSpecification | string = config.style ?? baseStyle();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const map = new MapLibre({
    container: element,
    style,
    attributionControl: { compact: true },
    dragRotate: false,
    pitchWithRotate: false,
    touchPitch: false,
    fadeDuration: calm ? 0 : 150,
    maxZoom: 23,
    locale: { "Map.Title": "Map" },
    ...options,
  });
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  // Whether all there is to see is drawn: for style sheets, and for whoever waits for it.
  map.on("dataloading", () => (element.dataset.state = "drawing"));
  map.on("idle", () => (element.dataset.state = "drawn"));
  map.addControl(new ScaleControl({ maxWidth: 110 }), "bottom-left");
  const isOwn = await loaded(map, config.style !== null);
  // Folded until asked for: it is a line of thanks, not a notice.
  element.querySelector(".maplibregl-ctrl-attrib")?.classList.remove("maplibregl-compact-show");
  if (!isOwn) {
    fillBase(map).catch((error: unknown) => console.warn("The base map did not come:", error));
    onThemeChange(() => tintBase(map, palette()));
  }
  return map;
}

/** Waits for the style. An own one that cannot be had is replaced by ours: the answer says whose it is. */
async function loaded(map: MapLibre, own: boolean): Promise<boolean> {
  const load = new Promise<void>((resolve) => map.once("load", () => resolve()));
  if (!own) return load.then(() => false);
  return new Promise((resolve) => {
    const failed = (event: object) => {
      if (map.isStyleLoaded()) return;
      map.off("error", failed);
      console.warn("The style that is set cannot be had, the built-in one is shown:", event);
      map.setStyle(baseStyle());
      void load.then(() => resolve(false));
    };
    map.on("error", failed);
    void load.then(() => {
      map.off("error", failed);
      resolve(true);
    });
  });
}

/** Runs now and whenever day turns into night. */
export function tinted(then: (colors: Palette) => void): void {
  then(palette());
  onThemeChange(() => then(palette()));
}
