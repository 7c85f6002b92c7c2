// Fields that add a vertex from typed values: a length and a bearing from the last vertex, or a coordinate.

import type { Position } from "geojson";
import { button, el } from "../dom";
import { t } from "../messages";
import { destination } from "./geodesy";
import { parseBearing, parseCoordinate, parseNumber } from "./parse-coordinate";

export interface TypedVertex {
  element: HTMLElement;
  /** Sets the vertex from which lengths start. */
  setLast(position: Position | null): void;
}

export function createTypedVertex(hasLengths: boolean, onAdd: (position: Position) => void): TypedVertex {
  let last: Position | null = null;
  const error = el("p", { class: "error", role: "alert" });
  const reject = (input: HTMLInputElement, message: string) => {
    error.textContent = message;
    input.setAttribute("aria-invalid", "true");
    input.focus();
  };
  const accept = (position: Position, ...inputs: HTMLInputElement[]) => {
    error.textContent = "";
    for (const input of inputs) {
      input.removeAttribute("aria-invalid");
      input.value = "";
    }
    inputs[0]?.focus();
    onAdd(position);
  };

  const length = textField({ inputmode: "decimal" });
  const bearing = textField({ inputmode: "decimal" });
  const lengthForm = form(
    labeled(t("script-map-length-in-meters"), length),
    labeled(t("script-map-typed-bearing"), bearing),
  );
  lengthForm.addEventListener("submit", (event) => {
    event.preventDefault();
    const [meters, degrees] = [parseNumber(length.value), parseBearing(bearing.value)];
    if (!last) reject(length, t("script-map-typed-no-start"));
    else if (meters === null || meters <= 0) reject(length, t("script-map-typed-length-invalid"));
    else if (degrees === null) reject(bearing, t("script-map-typed-bearing-invalid"));
    else accept(destination(last, meters, degrees), length, bearing);
  });

  const coordinate = textField({ placeholder: "48.85, 2.35" });
  const coordinateForm = form(labeled(t("script-map-typed-coordinate"), coordinate));
  coordinateForm.addEventListener("submit", (event) => {
    event.preventDefault();
    const position = parseCoordinate(coordinate.value);
    if (position) accept(position, coordinate);
    else reject(coordinate, t("script-map-coordinate-invalid"));
  });

  const forms = hasLengths ? [lengthForm, coordinateForm] : [coordinateForm];
  return {
    element: el("div", { class: "map-typed" }, ...forms, error),
    setLast(position) {
      last = position;
    },
  };
}

function textField(attributes: Record<string, string>): HTMLInputElement {
  return el("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
}

function labeled(text: string, input: HTMLInputElement): HTMLElement {
  return el("label", {}, el("span", {}, text), input);
}

function form(...fields: HTMLElement[]): HTMLFormElement {
  const add = button(t("script-map-typed-add"));
  add.type = "submit";
  return el("form", { novalidate: true }, ...fields, add);
}
