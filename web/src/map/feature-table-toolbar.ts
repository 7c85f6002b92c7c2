// The bar above the table of features: the layer, the filter, and whether only features on the map are listed.

import { button, el } from "../dom";
import { t } from "../messages";
import type { LayerConfig } from "./config";
import { COMPARISONS, type Comparison, type TableState } from "./table-state";

/** How long after the last keystroke the filter applies, in milliseconds. */
const TYPING_DELAY = 200;

export interface TableToolbar {
  element: HTMLElement;
  show(state: TableState): void;
  /** Sets the properties that can be filtered by. */
  setColumns(names: string[]): void;
  /** Moves the focus to the filter. */
  focus(): void;
}

export interface TableToolbarActions {
  showLayer(layer: LayerConfig): void;
  change(changes: Partial<TableState>): void;
  close(): void;
}

export function createTableToolbar(layers: LayerConfig[], actions: TableToolbarActions): TableToolbar {
  const layer = select(
    t("script-map-layer"),
    ...layers.map(({ id, name }) => el("option", { value: id }, name)),
  );
  const column = select(t("script-map-table-column"));
  const comparison = select(t("script-map-table-comparison"), ...COMPARISONS.map(comparisonOption));
  const text = el("input", {
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": t("script-map-table-filter"),
    placeholder: t("script-map-table-filter"),
  });
  const inView = el("input", { type: "checkbox" });
  const close = button(t("script-map-table-close"), { icon: "close", onlyIcon: true, kind: "plain" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const change = () => {
    clearTimeout(timer);
    actions.change({
      text: text.value.trim(),
      column: column.value,
      comparison: comparison.value as Comparison,
      isInView: inView.checked,
    });
  };
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(change, TYPING_DELAY);
  });
  for (const input of [column, comparison, inView]) input.addEventListener("change", change);
  layer.addEventListener("change", () => {
    const chosen = layers.find(({ id }) => id === layer.value);
    if (chosen) actions.showLayer(chosen);
  });
  close.addEventListener("click", () => {
    clearTimeout(timer);
    actions.close();
  });
  const setColumns = (names: string[]) => {
    const value = column.value;
    const known = value === "" || names.includes(value) ? names : [value, ...names];
    const options = known.map((name) => el("option", { value: name }, name));
    column.replaceChildren(el("option", { value: "" }, t("script-map-table-any-column")), ...options);
    column.value = value;
  };
  return {
    element: el(
      "div",
      { class: "map-table-toolbar" },
      layer,
      el("search", {}, column, comparison, text),
      el("label", {}, inView, t("script-map-table-in-view")),
      close,
    ),
    show(state) {
      layer.value = state.layer.id;
      if (!column.querySelector(`option[value="${CSS.escape(state.column)}"]`))
        column.append(el("option", { value: state.column }, state.column));
      column.value = state.column;
      comparison.value = state.comparison;
      comparison.hidden = state.column === "";
      // The user may be typing.
      if (document.activeElement !== text) text.value = state.text;
      inView.checked = state.isInView ?? false;
    },
    setColumns,
    focus: () => text.focus(),
  };
}

function select(label: string, ...options: HTMLOptionElement[]): HTMLSelectElement {
  return el("select", { "aria-label": label }, ...options);
}

function comparisonOption(comparison: Comparison): HTMLOptionElement {
  const labels = {
    contains: t("script-map-table-contains"),
    equal: t("script-map-table-equal"),
    "at-least": t("script-map-table-at-least"),
    "at-most": t("script-map-table-at-most"),
  };
  return el("option", { value: comparison }, labels[comparison]);
}
