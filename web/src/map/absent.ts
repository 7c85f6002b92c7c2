// Where no map can be drawn: it says so, instead of an empty box.

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

function webgl(): boolean {
  try {
    return document.createElement("canvas").getContext("webgl2") !== null;
  } catch {
    return false;
  }
}
