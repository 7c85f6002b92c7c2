// The drawing toolbar. It shows "Draw" and "Measure" until the user starts, then the shapes to choose from,
// then the actions, typed values, vertices and a hint for the chosen shape.

import type { Position } from "geojson";
import { button, el } from "../dom";
import { t } from "../messages";
import type { Sketch, SketchType } from "./sketch";
import { createTypedVertex, type TypedVertex } from "./typed-vertex";
import { createVertexTable, type VertexCommands } from "./vertex-table";

export interface DrawingToolbar {
  element: HTMLElement;
  /** Shows only "Draw" and "Measure". */
  reset(): void;
  /** Shows the actions for drawing a shape. */
  showDrawing(type: SketchType, hint: Hint): void;
  /** Shows the actions for editing an existing shape. */
  showEditing(): void;
  /** Shows the actions after a measurement. */
  showMeasured(type: SketchType): void;
  /** Shows only a hint and "Cancel". */
  showHint(hint: Hint): void;
  update(state: ToolbarState): void;
}

export interface Hint {
  text: string;
  /** Which keys to press. Hidden on devices with a touch screen only. */
  keys: string;
}

export interface ToolbarState {
  sketch: Sketch;
  size: string;
  last: Position | null;
  canUndo: boolean;
  canRedo: boolean;
  canFinish: boolean;
}

export interface DrawingCommands {
  draw(type: SketchType): void;
  measure(type: SketchType): void;
  addVertexAtCenter(): void;
  addVertex(position: Position): void;
  vertices: VertexCommands;
  setSnapping(isOn: boolean): void;
  finish(): void;
  undo(): void;
  redo(): void;
  cancel(): void;
}

export function createDrawingToolbar(commands: DrawingCommands, canEdit: boolean): DrawingToolbar {
  const element = el("div", {
    class: "map-tools",
    role: "group",
    "aria-label": t("script-map-draw-toolbar"),
  });
  const hint = el("p", { class: "map-hint", role: "status" });
  const size = el("p", { class: "map-size num" });
  const draw = commandButton(t("script-map-draw"), "edit", () => showChoice(drawnShapes(), commands.draw));
  const measure = commandButton(t("script-map-measure"), "measure", () =>
    showChoice(measuredShapes(), commands.measure),
  );
  const undo = iconButton(t("script-map-undo"), "undo", commands.undo);
  const redo = iconButton(t("script-map-redo"), "redo", commands.redo);
  const finish = commandButton(t("script-map-draw-finish"), "check", commands.finish);
  const done = commandButton(t("script-map-done"), "check", commands.finish);
  const cancel = plainButton(t("script-map-cancel"), commands.cancel);
  const addHere = plainButton(t("script-map-draw-add-here"), commands.addVertexAtCenter);
  const snap = el("input", { type: "checkbox", checked: true });
  snap.addEventListener("change", () => commands.setSnapping(snap.checked));
  const snapping = el("label", { class: "map-snap" }, snap, t("script-map-snap"));
  const table = createVertexTable(commands.vertices);
  let typed: TypedVertex | null = null;

  const show = (isDrawing: boolean, ...children: Node[]) => {
    element.classList.toggle("in-use", isDrawing);
    element.replaceChildren(...children);
  };
  function showChoice(shapes: Shape[], start: (type: SketchType) => void): void {
    const buttons = shapes.map(({ type, name, icon }) => commandButton(name, icon, () => start(type)));
    show(false, ...buttons, cancel);
    buttons[0]?.focus();
  }
  const setHint = ({ text, keys }: Hint) => {
    hint.replaceChildren(text, " ", el("span", { class: "keyboard" }, keys));
  };
  const actions = (...buttons: HTMLElement[]) => el("div", { class: "map-actions" }, ...buttons);

  const reset = () => {
    size.textContent = "";
    typed = null;
    table.element.open = false;
    show(false, ...(canEdit ? [draw, measure] : [measure]));
  };
  reset();
  return {
    element,
    reset,
    showDrawing(type, text) {
      setHint(text);
      typed = createTypedVertex(type !== "Point", commands.addVertex);
      const values = el(
        "details",
        { open: innerWidth > 760 },
        el("summary", {}, t("script-map-typed-title")),
        typed.element,
      );
      const buttons = type === "Point" ? [cancel] : [finish, undo, redo, cancel];
      const more = type === "Point" ? [] : [table.element];
      show(true, actions(...buttons), size, actions(addHere, snapping), values, ...more, hint);
    },
    showEditing() {
      hint.textContent = t("script-map-draw-edit-hint");
      show(true, actions(done, undo, redo, cancel), size, actions(snapping), table.element, hint);
    },
    showMeasured(type) {
      hint.textContent = t("script-map-measured-hint");
      const again = plainButton(t("script-map-measure-again"), () => commands.measure(type));
      const close = plainButton(t("script-close"), commands.cancel);
      show(true, actions(again, undo, redo, close), size, table.element, hint);
    },
    showHint(text) {
      setHint(text);
      show(true, actions(cancel), hint);
    },
    update(state) {
      size.textContent = state.size;
      undo.disabled = !state.canUndo;
      redo.disabled = !state.canRedo;
      finish.disabled = !state.canFinish;
      done.disabled = !state.canFinish;
      typed?.setLast(state.last);
      table.update(state.sketch);
    },
  };
}

interface Shape {
  type: SketchType;
  name: string;
  icon: string;
}

function drawnShapes(): Shape[] {
  return [
    { type: "Point", name: t("script-map-draw-point"), icon: "point" },
    { type: "LineString", name: t("script-map-draw-line"), icon: "line" },
    { type: "Polygon", name: t("script-map-draw-area"), icon: "polygon" },
  ];
}

function measuredShapes(): Shape[] {
  return [
    { type: "LineString", name: t("script-map-measure-length"), icon: "line" },
    { type: "Polygon", name: t("script-map-measure-area"), icon: "polygon" },
  ];
}

function commandButton(label: string, icon: string, command: () => void): HTMLButtonElement {
  return withCommand(button(label, { icon }), command);
}

function iconButton(label: string, icon: string, command: () => void): HTMLButtonElement {
  return withCommand(button(label, { icon, onlyIcon: true, kind: "plain" }), command);
}

function plainButton(label: string, command: () => void): HTMLButtonElement {
  return withCommand(button(label, { kind: "plain" }), command);
}

function withCommand(element: HTMLButtonElement, command: () => void): HTMLButtonElement {
  element.addEventListener("click", command);
  return element;
}
