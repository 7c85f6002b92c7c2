// What the table shows, and how the URL contains it: the slug of the layer, the filters and the order, such as
// `parcels,q:forest,sort:property~3Aarea`.

import type { LayerConfig } from "./config";
import { readUrlState, writeUrlState } from "./url-state";

export const COMPARISONS = ["contains", "equal", "at-least", "at-most"] as const;
export type Comparison = (typeof COMPARISONS)[number];

export interface TableState {
  layer: LayerConfig;
  /** The text to search for, or the value to compare with. */
  text: string;
  /** The property that the text is compared with, or an empty text for all. */
  column: string;
  comparison: Comparison;
  /** `property:…`, `id`, `updated`, or an empty text for the order of creation. */
  sort: string;
  isDescending: boolean;
  /** Only features on the visible part of the map. */
  isInView?: boolean;
  /** How many rows the page skips. */
  skip?: number;
}

export function writeTableState(state: TableState | null): void {
  if (!state) {
    writeUrlState("table", null);
    return;
  }
  const { layer, text, column, comparison, sort, isDescending, isInView } = state;
  const values = {
    q: text,
    column,
    op: column && comparison !== "contains" ? comparison : "",
    sort,
    order: isDescending ? "descending" : "",
    view: isInView ? "map" : "",
  };
  const given = Object.entries(values).filter(([, value]) => value !== "");
  const parts = given.map(([name, value]) => `${name}:${escapeValue(value)}`);
  writeUrlState("table", [layer.slug, ...parts].join(","));
}

/** Returns null if the URL names no layer of the map. */
export function readTableState(layers: LayerConfig[]): TableState | null {
  const [slug, ...parts] = (readUrlState("table") ?? "").split(",");
  const layer = layers.find((one) => one.slug === slug);
  if (!layer) return null;
  const values = new Map(parts.map((part) => part.split(":", 2) as [string, string]));
  const read = (name: string) => unescapeValue(values.get(name) ?? "");
  return {
    layer,
    text: read("q"),
    column: read("column"),
    comparison: COMPARISONS.find((one) => one === read("op")) ?? "contains",
    sort: read("sort"),
    isDescending: read("order") === "descending",
    isInView: read("view") === "map",
  };
}

/** Escapes with `~` instead of `%`, because MapLibre decodes the fragment whenever it writes the position. */
function escapeValue(text: string): string {
  return encodeURIComponent(text).replaceAll("~", "~7E").replaceAll("%", "~");
}

/** Returns an empty text if the value is malformed. */
function unescapeValue(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("~", "%"));
  } catch {
    return "";
  }
}
