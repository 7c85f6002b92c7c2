// Where someone was and what they looked at, for the next visit. The address goes before it.

import type { Map as MapLibre } from "maplibre-gl";
import type { MapConfig } from "./config";

const POSITION = "groma.map.position";
const LAYERS = "groma.map.layers";

export interface View {
  center: [number, number];
  zoom: number;
}

/** The shape of the panel: whether it is open, and what of each layer is not as it was given. */
export interface PanelState {
  open: boolean;
  hidden: string[];
  opacity: Record<string, number>;
}

/** `z/lat/lon`, as in the address. */
export function parseView(text: string | null): View | null {
  const [zoom, lat, lon] = (text ?? "").split("/").map(Number);
  if (zoom === undefined || lat === undefined || lon === undefined) return null;
  const sound = [zoom, lat, lon].every(Number.isFinite) && Math.abs(lat) <= 90 && zoom >= 0 && zoom <= 24;
  return sound ? { center: [lon, lat], zoom } : null;
}

/** Whether the address itself says where to look; MapLibre reads it. */
export function addressHasView(): boolean {
  return new URLSearchParams(location.hash.slice(1)).has("map");
}

export function firstView(config: MapConfig): View | null {
  return parseView(config.position) ?? parseView(read(POSITION));
}

export function rememberView(map: MapLibre): void {
  const remember = () => {
    const { lng, lat } = map.getCenter();
    write(POSITION, `${map.getZoom().toFixed(2)}/${lat.toFixed(6)}/${lng.toFixed(6)}`);
  };
  // Whoever followed a link and did not move was there as well.
  remember();
  map.on("moveend", remember);
}

export function panelState(): PanelState {
  const given: PanelState = { open: innerWidth > 760, hidden: [], opacity: {} };
  try {
    return { ...given, ...(JSON.parse(read(LAYERS) ?? "{}") as Partial<PanelState>) };
  } catch {
    return given;
  }
}

export function rememberPanel(state: PanelState): void {
  write(LAYERS, JSON.stringify(state));
}

// A browser may refuse to store anything: then nothing is remembered.
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
    // As above.
  }
}
