// The drawing toolbar. It shows only "Draw" until the user starts, then the shapes to choose from, then
// the actions and a hint for the chosen shape.

import { button, el } from "../dom";
import { t } from "../messages";
import type { ShapeMode } from "./drawing-modes";

export interface DrawingToolbar {
  element: HTMLElement;
  /** Shows only "Draw". */
  reset(): void;
  /** Shows the actions for editing an existing shape. */
  showEditing(): void;
  setSize(text: string): void;
}

export interface DrawingCommands {
  start(mode: ShapeMode): void;
  addVertex(): void;
  finish(): void;
  undo(): void;
  cancel(): void;
}

export function createDrawingToolbar(commands: DrawingCommands): DrawingToolbar {
  const element = el("div", {
    class: "map-tools",
    role: "toolbar",
    "aria-label": t("script-map-draw-toolbar"),
  });
  const hint = el("p", { class: "map-hint", role: "status" });
  const size = el("p", { class: "map-size num" });
  const draw = commandButton(t("script-map-draw"), "edit", showShapes);
  const cancel = button(t("script-map-cancel"), { kind: "plain" });
  cancel.addEventListener("click", commands.cancel);

  function showShapes(): void {
    const buttons = shapes().map(({ mode, name, icon, hint: text }) =>
      commandButton(name, icon, () => {
        commands.start(mode);
        showDrawing(mode, text);
      }),
    );
    element.replaceChildren(...buttons, cancel);
    buttons[0]?.focus();
  }

  function showDrawing(mode: ShapeMode, text: string): void {
    hint.textContent = text;
    const addVertex = button(t("script-map-draw-add-here"));
    addVertex.addEventListener("click", commands.addVertex);
    const buttons = [addVertex];
    if (mode !== "point") {
      const undo = button(t("script-map-undo"), { icon: "undo", kind: "plain" });
      undo.addEventListener("click", commands.undo);
      buttons.push(commandButton(t("script-map-draw-finish"), "check", commands.finish), undo);
    }
    element.replaceChildren(...buttons, cancel, hint, size);
  }

  const reset = () => {
    size.textContent = "";
    element.replaceChildren(draw);
  };
  reset();
  return {
    element,
    reset,
    showEditing() {
      hint.textContent = t("script-map-draw-edit-hint");
      const done = commandButton(t("script-map-done"), "check", commands.finish);
      element.replaceChildren(done, cancel, hint, size);
    },
    setSize(text) {
      size.textContent = text;
    },
  };
}

function shapes(): { mode: ShapeMode; name: string; icon: string; hint: string }[] {
  return [
    { mode: "point", name: t("script-map-draw-point"), icon: "point", hint: t("script-map-draw-point-hint") },
    {
      mode: "linestring",
      name: t("script-map-draw-line"),
      icon: "line",
      hint: t("script-map-draw-line-hint"),
    },
    {
      mode: "polygon",
      name: t("script-map-draw-area"),
      icon: "polygon",
      hint: t("script-map-draw-area-hint"),
    },
  ];
}

function commandButton(label: string, icon: string, command: () => void): HTMLButtonElement {
  const element = button(label, { icon });
  element.addEventListener("click", command);
  return element;
}
