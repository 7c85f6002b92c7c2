// The style of a layer as the server saves it, and what MapLibre and the legend need of it.

import type { DataDrivenPropertyValueSpecification, ExpressionSpecification } from "maplibre-gl";
import { t } from "../messages";

export interface LayerStyle {
  colorBy: ColorBy | null;
  /** In pixels at zoom 18. */
  lineWidth: number;
  /** The diameter in pixels at zoom 18. */
  pointSize: number;
  opacity: number;
  /** The property that labels show. */
  label: string | null;
  labelMinZoom: number;
  minZoom: number;
  maxZoom: number;
}

export interface ColorBy {
  property: string;
  categories?: { value: string; color: string }[];
  /** Each range starts at `from`, the lowest one at null. */
  ranges?: { from: number | null; color: string }[];
  /** The color of features without a value, or with one in no class. */
  other: string;
}

/** A declared field of a layer's features. */
export interface DeclaredField {
  name: string;
  type: "text" | "number" | "integer" | "boolean" | "date";
  required: boolean;
  choices: (string | number)[];
  default: string | number | boolean | null;
  unit: string | null;
}

/** The color of features, by a property or not. */
export function colorExpression(
  color: string,
  { colorBy }: LayerStyle,
): DataDrivenPropertyValueSpecification<string> {
  if (!colorBy) return color;
  const value: ExpressionSpecification = ["get", colorBy.property];
  if (colorBy.categories) {
    const branches = colorBy.categories.flatMap((category) => [category.value, category.color]);
    // Features have numbers and texts; categories are compared as texts.
    return ["match", ["to-string", value], ...branches, colorBy.other] as unknown as ExpressionSpecification;
  }
  const [lowest, ...others] = colorBy.ranges ?? [];
  if (!lowest) return colorBy.other;
  const steps = others.flatMap(({ from, color: next }) => [from ?? 0, next]);
  const ranges = others.length === 0 ? lowest.color : ["step", value, lowest.color, ...steps];
  return [
    "case",
    ["==", ["typeof", value], "number"],
    ranges,
    colorBy.other,
  ] as unknown as ExpressionSpecification;
}

/** The colors of a layer with their meaning; empty if it has one color. */
export function legendEntries({ colorBy }: LayerStyle): { color: string; label: string }[] {
  if (!colorBy) return [];
  const other = { color: colorBy.other, label: t("script-map-legend-other") };
  if (colorBy.categories)
    return [...colorBy.categories.map(({ value, color }) => ({ color, label: value })), other];
  const ranges = colorBy.ranges ?? [];
  const entries = ranges.map(({ from, color }, index) => ({
    color,
    label: rangeLabel(from, ranges[index + 1]?.from ?? null),
  }));
  return [...entries, other];
}

function rangeLabel(from: number | null, end: number | null): string {
  if (from === null && end === null) return t("script-map-legend-all");
  if (from === null) return t("script-map-legend-below", { end: end ?? 0 });
  if (end === null) return t("script-map-legend-from", { from });
  return t("script-map-legend-between", { from, end });
}
