// The line of drawing tools, shown when asked for: what to draw, then what to do next.

import { button, el } from "./elements";
import type { Kind } from "./drawing";

const KINDS: { kind: Kind; name: string; icon: string; hint: string }[] = [
  { kind: "point", name: "Point", icon: "point", hint: "Click where it is." },
  { kind: "linestring", name: "Line", icon: "line", hint: "Click each corner; the last one twice." },
  {
    kind: "polygon",
    name: "Area",
    icon: "polygon",
    hint: "Click each corner; the first one again to close it.",
  },
];

export interface Tools {
  element: HTMLElement;
  /** Back to the one button. */
  rest(): void;
  /** While corners of a shape are moved. */
  moving(): void;
  measured(text: string): void;
}

export interface Wants {
  begin(kind: Kind): void;
  place(): void;
  finish(): void;
  undo(): void;
  cancel(): void;
}

export function tools(wants: Wants): Tools {
  const element = el("div", { class: "map-tools", role: "toolbar", "aria-label": "Drawing" });
  const hint = el("p", { class: "map-hint", role: "status" });
  const measured = el("p", { class: "map-measured num" });
  const draw = button("Draw", { icon: "edit" });
  const cancel = button("Cancel", { kind: "plain" });
  cancel.addEventListener("click", wants.cancel);

  const rest = () => {
    measured.textContent = "";
    element.replaceChildren(draw);
  };
  const choose = () => {
    const kinds = KINDS.map(({ kind, name, icon, hint: words }) => {
      const one = button(name, { icon });
      one.addEventListener("click", () => {
        wants.begin(kind);
        going(kind, words);
      });
      return one;
    });
    element.replaceChildren(...kinds, cancel);
    kinds[0]?.focus();
  };
  const going = (kind: Kind, words: string) => {
    hint.textContent = `${words} By keyboard: arrows move the map, Space places a corner in its middle${kind === "point" ? "" : ", Enter ends"}, Esc starts again.`;
    const here = button("Place here");
    here.addEventListener("click", wants.place);
    const parts: Node[] = [here];
    if (kind !== "point") {
      const undo = button("Undo", { icon: "undo", kind: "plain" });
      undo.addEventListener("click", wants.undo);
      const done = button("Finish", { icon: "check" });
      done.addEventListener("click", wants.finish);
      parts.push(done, undo);
    }
    element.replaceChildren(...parts, cancel, hint, measured);
  };
  draw.addEventListener("click", choose);
  rest();
  return {
    element,
    rest,
    moving() {
      hint.textContent =
        "Drag corners, or the small points between them to add one. A right click removes a corner.";
      const done = button("Done", { icon: "check" });
      done.addEventListener("click", wants.finish);
      element.replaceChildren(done, cancel, hint, measured);
    },
    measured(text) {
      measured.textContent = text;
    },
  };
}
