// Snaps a position to the vertices and edges of the features on the map. Tiles contain rounded coordinates,
// so the exact ones of the features near the pointer are loaded from the server.

import type { Geometry, Position } from "geojson";
import type { Map as MapLibre, PointLike } from "maplibre-gl";
import type { FeatureDetails, LayerConfig, MapConfig } from "./config";
import { outlineLayerIds, sourceId } from "./layers";
import { expandUrl, getJson } from "./requests";
import { linesOf, nearestSnap, type Snap } from "./snap-geometry";

/** Snapping distance in pixels. */
const DISTANCE = 10;
/** How many features are considered. In dense layers, the first ones are enough to snap to something. */
const MAX_FEATURES = 12;
/** How long a click waits for exact coordinates, in milliseconds. */
const TIMEOUT = 1500;
const MAX_CACHED = 500;

export interface Snapping {
  isOn: boolean;
  /** Finds a snap with the coordinates that are loaded, and loads exact ones for the next call. */
  find(x: number, y: number, own: Position[]): Snap | null;
  /** Finds a snap with exact coordinates, or with those of the tiles if the server does not answer. */
  findExact(x: number, y: number, own: Position[]): Promise<Snap | null>;
  /** Forgets all coordinates, and does not snap to the feature with this id from now on. */
  reset(ignoredId: string | null): void;
}

interface Candidate {
  key: string;
  url: string;
  geometry: Geometry;
}

/** `own` are vertices of the shape that is being drawn. They take part in snapping too. */
export function createSnapping(map: MapLibre, config: MapConfig): Snapping {
  const loaded = new Map<string, Geometry | null>();
  const requests = new Map<string, Promise<void>>();
  let ignored: string | null = null;

  const candidates = (x: number, y: number): Candidate[] => {
    const box: [PointLike, PointLike] = [
      [x - DISTANCE, y - DISTANCE],
      [x + DISTANCE, y + DISTANCE],
    ];
    const layers = config.layers.flatMap(outlineLayerIds).filter((id) => map.getLayer(id));
    const found = new Map<string, Candidate>();
    for (const { source, id, geometry } of map.queryRenderedFeatures(box, { layers })) {
      const layer = config.layers.find((one: LayerConfig) => sourceId(one) === source);
      if (!layer || id === undefined || found.size === MAX_FEATURES) continue;
      const key = `${layer.id}/${id}`;
      const url = expandUrl(config.feature, { layerId: layer.id, featureId: id });
      if (!found.has(key)) found.set(key, { key, url, geometry });
    }
    return [...found.values()];
  };
  const load = ({ key, url }: Candidate): Promise<void> => {
    const request = requests.get(key);
    if (request) return request;
    if (requests.size >= MAX_CACHED) [loaded, requests].forEach((cache) => cache.clear());
    const started = getJson<FeatureDetails>(url)
      .then(({ id, geometry }) => void loaded.set(key, id === ignored ? null : geometry))
      // The coordinates of the tile remain.
      .catch(() => undefined);
    requests.set(key, started);
    return started;
  };
  const nearest = (found: Candidate[], x: number, y: number, own: Position[]): Snap | null => {
    const target = map.unproject([x, y]);
    const pixel = (360 / (512 * 2 ** map.getZoom())) * Math.cos((target.lat * Math.PI) / 180);
    const lines = found.flatMap(({ key, geometry }) => {
      const exact = loaded.get(key);
      if (exact === null) return [];
      return linesOf(exact ?? geometry);
    });
    lines.push(...own.map((position) => [position]));
    return nearestSnap(lines, [target.lng, target.lat], DISTANCE * pixel);
  };

  const snapping: Snapping = {
    isOn: true,
    find(x, y, own) {
      if (!snapping.isOn) return null;
      const found = candidates(x, y);
      for (const candidate of found) void load(candidate);
      return nearest(found, x, y, own);
    },
    async findExact(x, y, own) {
      if (!snapping.isOn) return null;
      const found = candidates(x, y);
      const timeout = new Promise((resolve) => setTimeout(resolve, TIMEOUT));
      await Promise.race([Promise.all(found.map(load)), timeout]);
      return nearest(found, x, y, own);
    },
    reset(ignoredId) {
      ignored = ignoredId;
      loaded.clear();
      requests.clear();
    },
  };
  return snapping;
}
