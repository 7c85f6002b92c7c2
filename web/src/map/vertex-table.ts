// The table of a sketch's vertices. Coordinates can be edited and vertices removed.

import type { Position } from "geojson";
import { button, el } from "../dom";
import { formatNumber, t } from "../messages";
import { distance } from "./geodesy";
import { parseNumber } from "./parse-coordinate";
import { DECIMALS } from "./positions";
import { vertices, type Sketch, type Vertex, type VertexPath } from "./sketch";

/** Longer tables would make the page slow. */
const MAX_ROWS = 500;

export interface VertexTable {
  element: HTMLDetailsElement;
  update(sketch: Sketch): void;
}

export interface VertexCommands {
  move(path: VertexPath, position: Position): void;
  remove(path: VertexPath): void;
  /** The vertex whose row has the focus. */
  select(path: VertexPath | null): void;
}

export function createVertexTable(commands: VertexCommands): VertexTable {
  const summary = el("summary", {});
  const body = el("tbody", {});
  const note = el("p", { class: "faint small", hidden: true });
  const heads = [
    el("th", { scope: "col" }, t("script-map-vertex-number")),
    el("th", { scope: "col" }, t("script-map-latitude")),
    el("th", { scope: "col" }, t("script-map-longitude")),
    el("th", { scope: "col" }, t("script-map-length-in-meters")),
    el("td", {}),
  ];
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body);
  const element = el(
    "details",
    { class: "map-vertices" },
    summary,
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": t("script-map-vertex-table") },
      table,
    ),
    note,
  );
  let sketch: Sketch | null = null;

  const render = () => {
    if (!sketch) return;
    const all = vertices(sketch);
    summary.textContent = t("script-map-vertex-count", { count: all.length });
    note.hidden = all.length <= MAX_ROWS;
    note.textContent = t("script-map-vertex-limit", { count: MAX_ROWS });
    if (!element.open) return;
    const focus = focusedCell(body);
    body.replaceChildren(...all.slice(0, MAX_ROWS).flatMap((vertex, number) => rows(vertex, number)));
    restoreFocus(body, focus);
  };
  element.addEventListener("toggle", render);
  element.addEventListener("focusin", ({ target }) => {
    const row = (target as Element).closest<HTMLElement>("tr[data-path]");
    commands.select(row ? readPath(row) : null);
  });
  element.addEventListener("focusout", () => commands.select(null));
  body.addEventListener("keydown", (event) => {
    const row = event.target as HTMLElement;
    if (!row.matches("tr[data-path]")) return;
    if (event.key === "Delete" || event.key === "Backspace") commands.remove(readPath(row));
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") focusNextRow(row, event.key);
    else return;
    event.preventDefault();
  });

  /** The row of a vertex, below a heading if it starts one of several parts or rings. */
  function rows(vertex: Vertex, at: number): HTMLTableRowElement[] {
    const { part, ring, index, position } = vertex;
    const number = at + 1;
    const name = { number: String(number) };
    const [longitude = 0, latitude = 0] = position;
    const remove = button(t("script-map-vertex-remove", name), {
      icon: "close",
      onlyIcon: true,
      kind: "plain",
    });
    remove.dataset.cell = "remove";
    remove.addEventListener("click", () => commands.remove({ part, ring, index }));
    const row = el(
      "tr",
      // The arrow keys lead from the first row to the others.
      { tabindex: at === 0 ? "0" : "-1", "data-path": `${part} ${ring} ${index}`, "data-cell": "row" },
      el("th", { scope: "row" }, String(number)),
      el("td", {}, input("latitude", t("script-map-vertex-latitude", name), latitude, 90, vertex)),
      el("td", {}, input("longitude", t("script-map-vertex-longitude", name), longitude, 180, vertex)),
      el("td", { class: "num" }, segmentLength(vertex)),
      el("td", {}, remove),
    );
    const heading = index === 0 ? ringHeading(part, ring) : null;
    return heading ? [el("tr", {}, el("th", { scope: "rowgroup", colspan: "5" }, heading)), row] : [row];
  }

  function ringHeading(part: number, ring: number): string | null {
    const parts = sketch?.parts ?? [];
    if (ring > 0) return t("script-map-vertex-hole", { part: part + 1, hole: ring });
    return parts.length > 1 || (parts[0]?.length ?? 0) > 1
      ? t("script-map-vertex-part", { part: part + 1 })
      : null;
  }

  function input(cell: string, label: string, value: number, limit: number, vertex: Vertex): HTMLElement {
    const field = el("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      value: formatDegrees(value),
      "aria-label": label,
      "data-cell": cell,
    });
    field.addEventListener("change", () => {
      const changed = parseNumber(field.value);
      const isValid = changed !== null && Math.abs(changed) <= limit;
      field.setAttribute("aria-invalid", String(!isValid));
      if (!isValid) return;
      const [longitude = 0, latitude = 0] = vertex.position;
      commands.move(vertex, cell === "latitude" ? [longitude, changed] : [changed, latitude]);
    });
    return field;
  }

  /** From the previous vertex. The first vertex of a polygon shows the segment that closes the ring. */
  function segmentLength({ part, ring, index, position }: Vertex): string {
    const positions = sketch?.parts[part]?.[ring] ?? [];
    const isClosed = sketch?.type === "Polygon" && positions.length > 2;
    const previous = index > 0 ? positions[index - 1] : isClosed ? positions.at(-1) : undefined;
    return previous ? formatNumber(distance(previous, position), 2) : "";
  }

  return {
    element,
    update(changed) {
      if (changed === sketch) return;
      sketch = changed;
      render();
    },
  };
}

function formatDegrees(value: number): string {
  return String(Number(value.toFixed(DECIMALS)));
}

function readPath(row: HTMLElement): VertexPath {
  const [part = 0, ring = 0, index = 0] = (row.dataset.path ?? "").split(" ").map(Number);
  return { part, ring, index };
}

function vertexRows(body: HTMLElement): HTMLElement[] {
  return [...body.querySelectorAll<HTMLElement>("tr[data-path]")];
}

function focusNextRow(row: HTMLElement, key: "ArrowDown" | "ArrowUp"): void {
  const all = vertexRows(row.parentElement ?? row);
  all[all.indexOf(row) + (key === "ArrowDown" ? 1 : -1)]?.focus();
}

/** Which row and which of its elements has the focus. */
function focusedCell(body: HTMLElement): { row: number; cell: string } | null {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || !body.contains(active)) return null;
  const row = active.closest<HTMLElement>("tr[data-path]");
  return row ? { row: vertexRows(body).indexOf(row), cell: active.dataset.cell ?? "row" } : null;
}

/** Moves the focus to the same place in the new rows, or to the last row. */
function restoreFocus(body: HTMLElement, focus: { row: number; cell: string } | null): void {
  if (!focus) return;
  const all = vertexRows(body);
  const row = all[Math.min(focus.row, all.length - 1)];
  const cell = row?.querySelector<HTMLElement>(`[data-cell=${focus.cell}]`);
  (cell ?? row)?.focus();
}
