// The state of the map that the browser keeps for the next visit: position, layer panel and base map.
// Values in the URL take precedence.

import type { Map as MapLibre } from "maplibre-gl";
import type { MapConfig } from "./config";

const POSITION_KEY = "groma.map.position";
const PANEL_KEY = "groma.map.layers";
const BASE_MAP_KEY = "groma.map.base";

export interface View {
  center: [number, number];
  zoom: number;
}

export interface PanelState {
  open: boolean;
  /** Ids of the hidden layers. */
  hidden: string[];
  /** Opacity by layer id, if the user changed it. */
  opacity: Record<string, number>;
}

/** Parses `zoom/latitude/longitude`. Returns null if the text is not a valid position. */
export function parseView(text: string | null): View | null {
  const [zoom, latitude, longitude] = (text ?? "").split("/").map(Number);
  if (zoom === undefined || latitude === undefined || longitude === undefined) return null;
  const isValid =
    [zoom, latitude, longitude].every(Number.isFinite) && Math.abs(latitude) <= 90 && zoom >= 0 && zoom <= 24;
  return isValid ? { center: [longitude, latitude], zoom } : null;
}

/** The configured position, or the position at the last visit. */
export function initialView(config: MapConfig): View | null {
  return parseView(config.position) ?? parseView(read(POSITION_KEY));
}

export function saveViewOnMove(map: MapLibre): void {
  const save = () => {
    const { lng, lat } = map.getCenter();
    write(POSITION_KEY, `${map.getZoom().toFixed(2)}/${lat.toFixed(6)}/${lng.toFixed(6)}`);
  };
  // Also keeps the position of a link that the user opened without moving the map.
  save();
  map.on("moveend", save);
}

export function readPanelState(): PanelState {
  const defaults: PanelState = { open: innerWidth > 760, hidden: [], opacity: {} };
  try {
    return { ...defaults, ...(JSON.parse(read(PANEL_KEY) ?? "{}") as Partial<PanelState>) };
  } catch {
    return defaults;
  }
}

export function savePanelState(state: PanelState): void {
  write(PANEL_KEY, JSON.stringify(state));
}

/** The id of the base map that the user chose. */
export function readBaseMap(): string | null {
  return read(BASE_MAP_KEY);
}

export function saveBaseMap(id: string): void {
  write(BASE_MAP_KEY, id);
}

// A browser can deny access to its storage. The map then starts with the defaults.
function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // See `read`.
  }
}
