// What stands in the place of a map that is not drawn: the reason, or the way to it.

import { button } from "./elements";

export function showNoMap(element: HTMLElement, error: unknown): void {
  element.replaceChildren();
  element.classList.add("no-map");
  const text = document.createElement("p");
  text.setAttribute("role", "status");
  text.textContent = webgl()
    ? "The map could not be drawn. Reload the page to try again."
    : "This browser cannot draw the map: it has no WebGL, or it is switched off. Everything else works without it.";
  element.append(text);
  console.warn("The map could not be drawn:", error);
}

/** On a phone a map beside other things waits until it is asked for. */
export function folded(element: HTMLElement, open: () => void): void {
  element.classList.add("folded");
  const show = button("Show the map", { icon: "map" });
  show.addEventListener("click", () => {
    element.classList.remove("folded");
    element.replaceChildren();
    open();
  });
  element.append(show);
}

function webgl(): boolean {
  try {
    return document.createElement("canvas").getContext("webgl2") !== null;
  } catch {
    return false;
  }
}
