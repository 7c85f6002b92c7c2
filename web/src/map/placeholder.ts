// The content shown in place of a map: an error, or on a phone a button that loads the map.

import { button, el } from "../dom";
import { t } from "../messages";

export function showMapError(element: HTMLElement, error: unknown): void {
  const text = hasWebGl() ? t("script-map-load-failed") : t("script-map-needs-webgl");
  element.classList.add("map-error");
  element.replaceChildren(el("p", { role: "status" }, text));
  console.warn("The map could not be loaded:", error);
}

/** Shows a button that opens the map, which saves data and space on a phone. */
export function showMapButton(element: HTMLElement, open: () => void): void {
  element.classList.add("collapsed");
  const show = button(t("script-map-show"), { icon: "map" });
  show.addEventListener("click", () => {
    element.classList.remove("collapsed");
    element.replaceChildren();
    open();
  });
  element.append(show);
}

function hasWebGl(): boolean {
  try {
    return document.createElement("canvas").getContext("webgl2") !== null;
  } catch {
    return false;
  }
}
