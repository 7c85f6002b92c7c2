// A MapLibre map with what every map of the application has: the worker from our own address, the base
// map or an own style, the scale, and words for those who cannot see it.

import {
  type MapOptions,
  Map as MapLibre,
  ScaleControl,
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
  map.addControl(new ScaleControl({ maxWidth: 110 }), "bottom-left");
  await new Promise<void>((resolve) => map.once("load", () => resolve()));
  // Folded until asked for: it is a line of thanks, not a notice.
  element.querySelector(".maplibregl-ctrl-attrib")?.classList.remove("maplibregl-compact-show");
  if (!config.style) {
    fillBase(map).catch((error: unknown) => console.warn("The base map did not come:", error));
    onThemeChange(() => tintBase(map, palette()));
  }
  return map;
}

/** Runs now and whenever day turns into night. */
export function tinted(then: (colors: Palette) => void): void {
  then(palette());
  onThemeChange(() => then(palette()));
}
