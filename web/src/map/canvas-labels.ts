// Labels without a font server: each text is drawn on a canvas and becomes an icon when MapLibre first needs it.

import type { ExpressionSpecification, Map as MapLibre } from "maplibre-gl";
import { palette, type Palette, withPalette } from "./palette";

const PREFIX = "label:";
const FONT = "500 12px Inter, sans-serif";
const HALO = 2;
const MAX_CHARACTERS = 40;

export interface LabelStyle {
  source: string;
  sourceLayer: string;
  filter: ExpressionSpecification;
  text: ExpressionSpecification;
  minzoom: number;
  maxzoom: number;
  /** Where the label is: over the middle of an area or line, or below a point. */
  place: "area" | "line" | "point";
}

/** Adds a style layer that labels features with a text. */
export function addLabels(map: MapLibre, id: string, style: LabelStyle): void {
  drawMissingLabels(map);
  map.addLayer({
    id,
    type: "symbol",
    source: style.source,
    "source-layer": style.sourceLayer,
    filter: style.filter,
    minzoom: style.minzoom,
    maxzoom: style.maxzoom,
    layout: {
      "symbol-placement": style.place === "line" ? "line-center" : "point",
      "icon-rotation-alignment": "viewport",
      "icon-anchor": style.place === "point" ? "top" : "center",
      "icon-offset": style.place === "point" ? [0, 6] : [0, 0],
      "icon-padding": 4,
    },
  });
  // The name of an image contains its colors, so a change of the theme draws others.
  withPalette(({ text, halo }) => {
    map.setLayoutProperty(id, "icon-image", ["concat", `${PREFIX}${text}${halo}`, style.text]);
  });
}

const drawing = new WeakSet<MapLibre>();

/** A map has one resolver: images with other names than labels are added before they are needed. */
function drawMissingLabels(map: MapLibre): void {
  if (drawing.has(map)) return;
  drawing.add(map);
  map.setMissingStyleImageResolver((id) => {
    if (!id.startsWith(PREFIX) || map.hasImage(id)) return;
    const colors = PREFIX.length + palette().text.length + palette().halo.length;
    const pixelRatio = Math.min(devicePixelRatio, 2);
    const image = drawText(id.slice(colors), palette(), pixelRatio);
    if (image) map.addImage(id, image, { pixelRatio });
  });
}

function drawText(text: string, { text: color, halo }: Palette, pixelRatio: number): ImageData | null {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const shown = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
  if (!context || shown.trim() === "") return null;
  context.font = FONT;
  const width = Math.ceil(context.measureText(shown).width) + 2 * HALO;
  const height = 16 + 2 * HALO;
  [canvas.width, canvas.height] = [width * pixelRatio, height * pixelRatio];
  // Setting the size resets the context.
  context.scale(pixelRatio, pixelRatio);
  context.font = FONT;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 2 * HALO;
  context.strokeStyle = halo;
  context.strokeText(shown, HALO, height / 2);
  context.fillStyle = color;
  context.fillText(shown, HALO, height / 2);
  return context.getImageData(0, 0, canvas.width, canvas.height);
}
