// The base maps of the workspace, which come from other servers. Nothing is requested from a server before
// its base map is shown. A base map is a set of sources and layers between the built-in one and the layers
// of the workspace.

import type {
  LayerSpecification,
  Map as MapLibre,
  SourceSpecification,
  StyleSpecification,
} from "maplibre-gl";
import { showToast } from "../app/toasts";
import { t } from "../messages";
import { isBuiltInLayer, limitBuiltIn, loadBaseMap } from "./basemap";
import { readBaseMap } from "./saved-state";

interface Common {
  id: string;
  name: string;
  attribution: string;
  attributionUrl: string | null;
  isDefault: boolean;
}

interface RasterBaseMap extends Common {
  type: "raster";
  tiles: string[];
  scheme: "xyz" | "tms";
  minZoom: number;
  maxZoom: number;
  tileSize: number;
}

interface StyleBaseMap extends Common {
  type: "style";
  url: string;
}

export type BaseMapConfig = RasterBaseMap | StyleBaseMap;

export interface BaseMapsConfig {
  list: BaseMapConfig[];
  /** The URL of the page where base maps are added, if the user may do that. */
  settings: string | null;
}

/** The id of the built-in base map. */
export const BUILT_IN = "built-in";

export interface BaseMaps {
  /** The id of the base map that was chosen last. */
  current(): string;
  show(id: string): void;
  /** Called when another base map is shown than the one that was chosen, because that one failed. */
  onFallback(callback: () => void): void;
}

/** What a base map adds to the map. */
interface Content {
  sources: Record<string, SourceSpecification>;
  layers: LayerSpecification[];
  glyphs?: string | undefined;
  sprite?: StyleSpecification["sprite"];
  /** The built-in base map is shown below this zoom. */
  builtInBelow: number;
}

/** Distinguishes the sources and layers of base maps from those of the workspace. */
const PREFIX = "base-map-";
/** Above the highest zoom of maps. */
const MAX_ZOOM = 24;

/** Shows the base map that the user chose last, or the default one. */
export function createBaseMaps(map: MapLibre, { list }: BaseMapsConfig): BaseMaps {
  const known = (id: string | null) => id === BUILT_IN || list.some((entry) => entry.id === id);
  const saved = readBaseMap();
  const preferred = list.find(({ isDefault }) => isDefault)?.id ?? BUILT_IN;
  let current = saved !== null && known(saved) ? saved : preferred;
  let onFallback = () => {};
  let isBuiltInLoaded = false;

  const showBuiltIn = (below: number) => {
    if (below > 0 && !isBuiltInLoaded) {
      isBuiltInLoaded = true;
      loadBaseMap(map).catch((error: unknown) => console.warn("The base map could not be loaded:", error));
    }
    limitBuiltIn(map, below);
  };
  const showContent = (content: Content) => {
    removeContent(map);
    showBuiltIn(content.builtInBelow);
    addContent(map, content);
  };
  const show = (id: string) => {
    current = id;
    const entry = list.find((other) => other.id === id);
    void contentOf(entry)
      .then((content) => {
        // The user has chosen another one meanwhile.
        if (current !== id) return;
        showContent(content);
        if (entry) openAttribution(map);
      })
      .catch((error: unknown) => {
        console.warn("The base map could not be loaded:", error);
        if (current !== id) return;
        if (entry) showToast(t("script-map-base-failed", { name: entry.name }));
        show(BUILT_IN);
        onFallback();
      });
  };
  const shown = () => list.find(({ id }) => id === current);
  reportFailures(map, shown, () => showBuiltIn(MAX_ZOOM));
  show(current);
  return { current: () => current, show, onFallback: (callback) => (onFallback = callback) };
}

async function contentOf(entry: BaseMapConfig | undefined): Promise<Content> {
  if (!entry) return { sources: {}, layers: [], builtInBelow: MAX_ZOOM };
  return entry.type === "raster" ? rasterContent(entry) : styleContent(entry);
}

function rasterContent(entry: RasterBaseMap): Content {
  const { tiles, scheme, minZoom, maxZoom, tileSize } = entry;
  // MapLibre counts zooms for tiles of 512 pixels: smaller tiles of the same zoom appear one zoom earlier.
  const shift = tileSize === 256 ? 1 : 0;
  return {
    sources: {
      tiles: {
        type: "raster",
        tiles,
        scheme,
        minzoom: minZoom,
        maxzoom: maxZoom,
        tileSize,
        attribution: attributionHtml(entry),
      },
    },
    layers: [{ id: "tiles", type: "raster", source: "tiles" }],
    builtInBelow: Math.max(0, minZoom - shift),
  };
}

async function styleContent(entry: StyleBaseMap): Promise<Content> {
  const response = await fetch(entry.url);
  if (!response.ok) throw new Error(`${entry.url}: ${response.status}`);
  const { sources, layers, glyphs, sprite } = (await response.json()) as StyleSpecification;
  if (!Array.isArray(layers) || typeof sources !== "object") throw new Error(`${entry.url} is not a style`);
  const first = Object.keys(sources)[0];
  const credited = first !== undefined && entry.attribution !== "" ? sources[first] : undefined;
  if (credited) Object.assign(credited, { attribution: attributionHtml(entry) });
  return { sources, layers, glyphs, sprite, builtInBelow: 0 };
}

function addContent(map: MapLibre, { sources, layers, glyphs, sprite }: Content): void {
  if (glyphs) map.setGlyphs(glyphs);
  if (typeof sprite === "string") map.setSprite(sprite);
  else for (const { id, url } of sprite ?? []) map.addSprite(id, url);
  for (const [id, source] of Object.entries(sources)) map.addSource(PREFIX + id, source);
  const above = map.getLayersOrder().find((id) => !isBuiltInLayer(id));
  for (const layer of layers) {
    const own = { ...layer, id: PREFIX + layer.id } as LayerSpecification;
    if ("source" in own && typeof own.source === "string") own.source = PREFIX + own.source;
    map.addLayer(own, above);
  }
}

function removeContent(map: MapLibre): void {
  for (const id of map.getLayersOrder()) if (id.startsWith(PREFIX)) map.removeLayer(id);
  const { sources, glyphs } = map.getStyle();
  for (const id of Object.keys(sources)) if (id.startsWith(PREFIX)) map.removeSource(id);
  if (glyphs) map.setGlyphs(null);
  for (const { id } of map.getSprite()) map.removeSprite(id);
}

/** Text may come from other servers: it is never parsed as HTML. */
function attributionHtml({ attribution, attributionUrl }: Common): string {
  const element = document.createElement(attributionUrl ? "a" : "span");
  element.textContent = attribution;
  if (attributionUrl) Object.assign(element, { href: attributionUrl, target: "_blank", rel: "noopener" });
  return attribution === "" ? "" : element.outerHTML;
}

/** Most services require that their name is visible. Moving the map folds it, to a button. */
function openAttribution(map: MapLibre): void {
  const element = map.getContainer().querySelector(".maplibregl-ctrl-attrib");
  element?.classList.add("maplibregl-compact-show");
}

/**
 * Shows a message and the built-in base map if no tile of a base map can be loaded: a missing tile alone is
 * normal.
 */
function reportFailures(
  map: MapLibre,
  shown: () => BaseMapConfig | undefined,
  showBuiltIn: () => void,
): void {
  const known = new Set<string>();
  const isOwn = (sourceId: unknown) => typeof sourceId === "string" && sourceId.startsWith(PREFIX);
  map.on("sourcedata", ({ sourceId, tile }) => {
    const entry = shown();
    if (entry && tile && isOwn(sourceId)) known.add(entry.id);
  });
  map.on("error", (event) => {
    const sourceId: unknown = "sourceId" in event ? event.sourceId : undefined;
    const entry = shown();
    if (!entry || !isOwn(sourceId)) {
      console.error(event.error);
      return;
    }
    if (known.has(entry.id)) return;
    known.add(entry.id);
    showToast(t("script-map-base-failed", { name: entry.name }));
    showBuiltIn();
  });
}
