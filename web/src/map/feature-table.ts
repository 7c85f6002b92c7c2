// The table of a layer's features below the map. The server filters, sorts and writes the rows; a row and the
// feature on the map are selected together.

import type { Map as MapLibre } from "maplibre-gl";
import { el } from "../dom";
import type { Bounds, LayerConfig, MapConfig } from "./config";
import { createTableToolbar } from "./feature-table-toolbar";
import { zoomTo } from "./layer-panel";
import { errorMessage, expandUrl, getHtml } from "./requests";
import type { SelectedFeature, Selection } from "./selection";
import { readTableState, writeTableState, type TableState } from "./table-state";
import { t } from "../messages";

/** How long after the map moved the rows are loaded, in milliseconds. */
const MOVE_DELAY = 200;
/** On phones, the table covers the map. */
const COVERS_MAP = "(max-width: 760px)";

export interface FeatureTable {
  element: HTMLElement;
  /** Opens the table of a layer, or closes it. */
  toggle(layer: LayerConfig): void;
  /** Loads the rows again if the table shows this layer. */
  refresh(layerId: string): void;
  /** Opens the table that the URL names. */
  restore(): void;
}

/** `isDrawing` turns selection off while the user draws. */
export function createFeatureTable(
  map: MapLibre,
  config: MapConfig,
  selection: Selection,
  isDrawing: () => boolean,
): FeatureTable {
  let state: TableState | null = null;
  let selected: SelectedFeature | null = null;
  let request: AbortController | null = null;
  let moveTimer: ReturnType<typeof setTimeout> | undefined;
  let opener: Element | null = null;

  const results = el("div", { class: "map-table-results" });
  const toolbar = createTableToolbar(config.layers, {
    showLayer: (layer) => open(layer),
    change: (changes) => update({ ...changes, skip: 0 }),
    close: () => close(),
  });
  const element = el(
    "section",
    { class: "map-table", "aria-label": t("script-map-table"), hidden: true },
    toolbar.element,
    results,
  );

  function open(layer: LayerConfig, restored?: Partial<TableState>): void {
    if (!element.contains(document.activeElement)) opener = document.activeElement;
    state = {
      layer,
      text: "",
      column: "",
      comparison: "contains",
      sort: "",
      isDescending: false,
      ...restored,
    };
    element.hidden = false;
    document.body.classList.add("has-map-table");
    results.replaceChildren();
    toolbar.show(state);
    writeTableState(state);
    void load();
  }

  function close(): void {
    request?.abort();
    state = null;
    element.hidden = true;
    document.body.classList.remove("has-map-table");
    writeTableState(null);
    if (opener instanceof HTMLElement) opener.focus();
  }

  function update(changes: Partial<TableState>): void {
    if (!state) return;
    state = { ...state, ...changes };
    toolbar.show(state);
    writeTableState(state);
    void load();
  }

  async function load(): Promise<void> {
    if (!state) return;
    request?.abort();
    const current = new AbortController();
    request = current;
    results.setAttribute("aria-busy", "true");
    const isSelected = selected?.layerId === state.layer.id;
    const query = tableQuery(state, map, isSelected ? selected : null);
    try {
      const url = expandUrl(config.table, { layerId: state.layer.id });
      const html = await getHtml(`${url}?${query}`, current.signal);
      if (current.signal.aborted) return;
      render(html);
    } catch (error) {
      if (current.signal.aborted) return;
      results.replaceChildren(el("p", { class: "error", role: "alert" }, errorMessage(error)));
    }
    results.removeAttribute("aria-busy");
  }

  function render(html: string): void {
    const focus = focusedPart(results);
    const scroll = results.querySelector(".map-table-scroll");
    const [left, top] = [scroll?.scrollLeft ?? 0, scroll?.scrollTop ?? 0];
    // The server has escaped the data.
    results.innerHTML = html;
    toolbar.setColumns(columnNames(results));
    results.querySelector(".map-table-scroll")?.scrollTo(left, focus?.startsWith("[data-skip") ? 0 : top);
    markSelected();
    if (focus) (results.querySelector<HTMLElement>(focus) ?? firstFocusable())?.focus();
  }

  const rows = () => [...results.querySelectorAll<HTMLTableRowElement>("tr[data-feature]")];
  const firstFocusable = () => results.querySelector<HTMLElement>("tr[tabindex='0']");

  /** One row can be reached with Tab; the arrow keys lead to the others. */
  function markSelected(): HTMLTableRowElement | undefined {
    const isShown = state !== null && selected?.layerId === state.layer.id;
    const all = rows();
    const row = isShown ? all.find((one) => featureOf(one) === selected?.featureId) : undefined;
    for (const one of all) {
      one.setAttribute("aria-selected", String(one === row));
      one.tabIndex = one === (row ?? all[0]) ? 0 : -1;
    }
    return row;
  }

  function select(row: HTMLTableRowElement): void {
    if (!state || isDrawing()) return;
    selected = { layerId: state.layer.id, featureId: featureOf(row) };
    markSelected();
    void selection.select(selected.layerId, selected.featureId);
  }

  function zoom(row: HTMLTableRowElement): void {
    const bounds = (row.dataset.bbox ?? "").split(",").map(Number);
    if (bounds.length !== 4) return;
    select(row);
    if (matchMedia(COVERS_MAP).matches) close();
    zoomTo(map, bounds as Bounds);
  }

  function focusRow(row: HTMLTableRowElement | undefined): void {
    if (!row) return;
    for (const one of rows()) one.tabIndex = one === row ? 0 : -1;
    row.focus();
  }

  selection.onChange((changed) => {
    const isSame = selected?.layerId === changed?.layerId && selected?.featureId === changed?.featureId;
    selected = changed;
    if (!state) return;
    const row = markSelected();
    row?.scrollIntoView({ block: "nearest" });
    const isElsewhere = changed?.layerId === state.layer.id && !row;
    const isPinnedGone = !changed && results.querySelector(".pinned");
    if (!isSame && (isElsewhere || isPinnedGone)) void load();
  });
  map.on("moveend", () => {
    clearTimeout(moveTimer);
    if (state?.isInView) moveTimer = setTimeout(() => update({ skip: 0 }), MOVE_DELAY);
  });

  results.addEventListener("click", ({ target }) => {
    const clicked = target as Element;
    const [sort, page] = ["sort", "skip"].map((name) => clicked.closest<HTMLElement>(`[data-${name}]`));
    const row = clicked.closest<HTMLTableRowElement>("tr[data-feature]");
    if (sort) update(nextOrder(state, sort.dataset.sort ?? ""));
    else if (page) update({ skip: Number(page.dataset.skip) });
    else if (row && clicked.closest("[data-zoom]")) zoom(row);
    else if (row && !clicked.closest("a")) {
      focusRow(row);
      select(row);
    }
  });
  results.addEventListener("dblclick", ({ target }) => {
    const row = (target as Element).closest<HTMLTableRowElement>("tr[data-feature]");
    if (row) zoom(row);
  });
  results.addEventListener("keydown", (event) => {
    const row = event.target as HTMLTableRowElement;
    if (!row.matches("tr[data-feature]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = rows();
    const index = all.indexOf(row);
    if (event.key === "Enter") zoom(row);
    else if (event.key === " ") select(row);
    else if (event.key === "ArrowDown" || event.key === "j") focusRow(all[index + 1]);
    else if (event.key === "ArrowUp" || event.key === "k") focusRow(all[index - 1]);
    else if (event.key === "Home") focusRow(all[0]);
    else if (event.key === "End") focusRow(all.at(-1));
    else return;
    event.preventDefault();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || (event.target as Element).matches("input, select")) return;
    event.stopPropagation();
    close();
  });

  return {
    element,
    toggle(layer) {
      if (state?.layer.id === layer.id) {
        close();
        return;
      }
      open(layer);
      toolbar.focus();
    },
    refresh(layerId) {
      if (state?.layer.id === layerId) void load();
    },
    restore() {
      const restored = readTableState(config.layers);
      if (restored) open(restored.layer, restored);
    },
  };
}

function tableQuery(state: TableState, map: MapLibre, selected: SelectedFeature | null): URLSearchParams {
  const { text, column, comparison, sort, isDescending, isInView, skip } = state;
  const query = new URLSearchParams({ q: text, column, op: comparison, sort });
  if (isDescending) query.set("order", "descending");
  if (skip) query.set("skip", String(skip));
  if (isInView) query.set("bbox", boundsInView(map));
  if (selected) query.set("selected", String(selected.featureId));
  return query;
}

/** West is greater than east if the view crosses the antimeridian. */
function boundsInView(map: MapLibre): string {
  const bounds = map.getBounds();
  const [west, east] = [bounds.getWest(), bounds.getEast()];
  const wrap = (longitude: number) => ((((longitude + 180) % 360) + 360) % 360) - 180;
  const [left, right] = east - west >= 360 ? [-180, 180] : [wrap(west), wrap(east)];
  return [left, bounds.getSouth(), right, bounds.getNorth()].map((number) => number.toFixed(7)).join(",");
}

/** A click sorts in ascending order, the next in descending order, and the third restores the order of creation. */
function nextOrder(state: TableState | null, sort: string): Partial<TableState> {
  if (state?.sort !== sort) return { sort, isDescending: false, skip: 0 };
  return state.isDescending
    ? { sort: "", isDescending: false, skip: 0 }
    : { sort, isDescending: true, skip: 0 };
}

function featureOf(row: HTMLElement): number {
  return Number(row.dataset.feature);
}

/** The names of the properties in the heading. */
function columnNames(results: HTMLElement): string[] {
  const headings = [...results.querySelectorAll<HTMLElement>("[data-sort^='property:']")];
  return headings.map(({ dataset }) => (dataset.sort ?? "").slice("property:".length));
}

/** A selector of the element that has the focus. */
function focusedPart(results: HTMLElement): string | null {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || !results.contains(active)) return null;
  const { sort, skip } = active.dataset;
  if (sort !== undefined) return `[data-sort="${CSS.escape(sort)}"]`;
  if (skip !== undefined) return `[data-skip="${CSS.escape(skip)}"]`;
  const feature = active.closest<HTMLElement>("tr[data-feature]")?.dataset.feature;
  return `tr[data-feature="${feature ?? ""}"]`;
}
