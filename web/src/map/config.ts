// The configuration that a page passes to its map, and the responses of the map's routes.

import type { BBox, FeatureCollection, Geometry, Point } from "geojson";
import type { BaseMapsConfig } from "./base-maps";
import type { DeclaredField, LayerStyle } from "./layer-style";

/** West, south, east, north. */
export type Bounds = [number, number, number, number];

export interface LayerConfig {
  id: string;
  slug: string;
  name: string;
  color: string;
  geometryType: "Point" | "LineString" | "Polygon" | "Mixed" | null;
  bounds: Bounds | null;
  minZoom: number;
  maxZoom: number;
  sourceLayer: string;
  /** The URL of tiles with `{z}`, `{x}` and `{y}`, and the layer's revision in the parameter `r`. */
  tiles: string;
  editable: boolean;
  locked: boolean;
  style: LayerStyle;
  /** The declared fields of the layer. */
  fields: DeclaredField[];
  /** The URL that exports the layer, and its reference systems: names and labels. */
  export: { url: string; systems: [string, string][] } | null;
  /** The URL of the layer's style in the settings, if the user may change it. */
  settings: string | null;
  /** The page that checks its shapes. */
  check: string;
}

export interface FolderConfig {
  id: string;
  reference: string;
  name: string;
  bbox?: Bounds | null;
}

export interface MapConfig {
  layers: LayerConfig[];
  /** The URL of the folders as points, or null if the map does not show them. */
  folders: string | null;
  /** The folder that the page is about. */
  folder: FolderConfig | null;
  /** The URL of that folder's features. */
  geometries: string | null;
  /** The URL of a feature, with `{layerId}` and `{featureId}`. */
  feature: string;
  /** The URL to which a shape is posted. */
  save: string;
  /** The URL that deletes a shape, with `{id}`. */
  delete: string;
  /** The URL of the folder search. */
  search: string;
  baseMaps: BaseMapsConfig;
  /** The URL of the search for features by attributes. */
  featureSearch: string;
  /** The URL of the table of a layer's features, with `{layerId}`. */
  table: string;
  /** The formats of exports: names and labels. */
  exportFormats: [string, string][];
  canEdit: boolean;
  /** `zoom/latitude/longitude` */
  position: string | null;
  small: boolean;
}

/** The response of `MapConfig.feature`. */
export interface FeatureDetails {
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

export interface FolderPoint {
  reference: string;
  name: string;
  status: string;
  color: string;
  url: string;
}

/** The response of `MapConfig.folders`. */
export type FolderPoints = FeatureCollection<Point, FolderPoint>;

/** An item in the response of `MapConfig.search`. */
export interface FolderMatch {
  reference: string;
  name: string;
  status: string;
  color: string;
  /** Null if the folder has no shapes. */
  bbox: BBox | null;
}

/** An item in the response of `MapConfig.featureSearch`. */
export interface FeatureMatch {
  layerId: string;
  /** The name of the layer. */
  layer: string;
  color: string;
  featureId: number;
  title: string;
  /** The attribute that contains the text, unless it is the title. */
  match: string | null;
  bbox: BBox | null;
}

/** The response to saving or deleting a shape. */
export interface ShapeChange {
  id: string;
  layerId: string;
  /** The layer's new revision. */
  revision: string | number;
}

export function readConfig(element: HTMLElement): MapConfig {
  const config = JSON.parse(element.dataset.config ?? "{}") as Partial<MapConfig>;
  return {
    layers: config.layers ?? [],
    folders: config.folders ?? null,
    folder: config.folder ?? null,
    geometries: config.geometries ?? null,
    feature: config.feature ?? "/map/features/{layerId}/{featureId}",
    save: config.save ?? "/map/geometries",
    delete: config.delete ?? "/map/geometries/{id}/delete",
    search: config.search ?? "/map/folders",
    baseMaps: config.baseMaps ?? { list: [], settings: null },
    featureSearch: config.featureSearch ?? "/map/features",
    table: config.table ?? "/map/layers/{layerId}/table",
    exportFormats: config.exportFormats ?? [],
    canEdit: config.canEdit ?? false,
    position: config.position ?? null,
    small: config.small ?? element.classList.contains("map"),
  };
}

/** Drops the elevations of a three-dimensional bounding box. */
export function boundsOf(bbox: BBox): Bounds {
  return bbox.length === 6 ? [bbox[0], bbox[1], bbox[3], bbox[4]] : bbox;
}
