// What a page tells its map, and what the map's routes answer.

import type { BBox, FeatureCollection, Geometry, Point } from "geojson";

/** A layer of the workspace. */
export interface LayerConfig {
  id: string;
  slug: string;
  name: string;
  color: string;
  geometryType: "Point" | "LineString" | "Polygon" | "Mixed" | null;
  bounds: [number, number, number, number] | null;
  minZoom: number;
  maxZoom: number;
  sourceLayer: string;
  /** Address of tiles with `{z}`, `{x}`, `{y}`, and the revision as `r`. */
  tiles: string;
  editable: boolean;
}

export interface FolderConfig {
  id: string;
  reference: string;
  name: string;
  bbox?: [number, number, number, number] | null;
}

export interface MapConfig {
  layers: LayerConfig[];
  /** Folders as points. */
  folders: string | null;
  /** The folder that the page is about. */
  folder: FolderConfig | null;
  /** That folder's shapes. */
  geometries: string | null;
  /** One feature: `{layerId}`, `{featureId}`. */
  feature: string;
  save: string;
  /** `{id}` is the geometry's. */
  delete: string;
  /** Folders by a term. */
  search: string;
  style: string | null;
  canEdit: boolean;
  position: string | null;
  small: boolean;
}

/** What is known of one feature. */
export interface FeatureFacts {
  id: string;
  featureId: number;
  layerId: string;
  title: string | null;
  properties: Record<string, unknown>;
  folder: { reference: string; name: string; url: string } | null;
  geometry: Geometry | null;
  updatedAt: string;
  editable: boolean;
}

/** A folder as a point of the map. */
export interface FolderPoint {
  reference: string;
  name: string;
  status: string;
  color: string;
  url: string;
}

export type FolderPoints = FeatureCollection<Point, FolderPoint>;

export interface FoundFolder {
  reference: string;
  name: string;
  status: string;
  color: string;
}

/** After a shape was kept or deleted: the layer's tiles from now on. */
export interface Kept {
  id: string;
  layerId: string;
  revision: string | number;
}

export type Bounds = [number, number, number, number];

export function readConfig(element: HTMLElement): MapConfig {
  const given = JSON.parse(element.dataset.config ?? "{}") as Partial<MapConfig>;
  return {
    layers: given.layers ?? [],
    folders: given.folders ?? null,
    folder: given.folder ?? null,
    geometries: given.geometries ?? null,
    feature: given.feature ?? "/map/features/{layerId}/{featureId}",
    save: given.save ?? "/map/geometries",
    delete: given.delete ?? "/map/geometries/{id}/delete",
    search: given.search ?? "/map/folders",
    style: given.style ?? null,
    canEdit: given.canEdit ?? false,
    position: given.position ?? null,
    small: given.small ?? element.classList.contains("map"),
  };
}

export function boundsOf(bbox: BBox): Bounds {
  return bbox.length === 6 ? [bbox[0], bbox[1], bbox[3], bbox[4]] : bbox;
}
