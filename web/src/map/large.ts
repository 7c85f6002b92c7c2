// The map that takes the whole screen.

import { GeolocateControl, type Map as MapLibre, NavigationControl } from "maplibre-gl";
import { reloadSaying, toast } from "../app/toasts";
import { showNoMap } from "./absent";
import { followAddress } from "./address";
import { drawMap } from "./canvas";
import { card as makeCard } from "./card";
import { boundsOf, type Bounds, type FeatureFacts, type Kept, type MapConfig } from "./config";
import { canOpen, drawing, type Drawing } from "./drawing";
import { el } from "./elements";
import { addFolders } from "./folders";
import { keepShape } from "./keeping";
import { addLayer, partsOf, renewLayer } from "./layers";
import { measuredText, positionText } from "./measure";
import { layersPanel, type Panel } from "./panel";
import { addressHasView, firstView, rememberView } from "./remembered";
import { address, postJson } from "./requests";
import { selection } from "./selection";
import { tools as makeTools } from "./tools";

export async function largeMap(element: HTMLElement, config: MapConfig): Promise<void> {
  let map: MapLibre;
  try {
    map = await drawMap(element, config, { hash: "map", ...start(config) });
  } catch (error) {
    showNoMap(element, error);
    return;
  }
  map.addControl(new NavigationControl({ showCompass: false }), "top-right");
  // Only where the browser gives positions at all: over https, or on this machine.
  if (isSecureContext) map.addControl(new GeolocateControl({ trackUserLocation: true }), "top-right");
  rememberView(map);

  // The first layer of the list lies on top.
  for (const layer of [...config.layers].reverse()) addLayer(map, layer);
  let panel: Panel | undefined;
  const folders = config.folders
    ? addFolders(map, config.folders, (statuses) => panel?.legend(statuses))
    : null;
  panel = layersPanel(map, config.layers, folders);

  let drawn: Drawing | null = null;
  let known: FeatureFacts | null = null;
  let busy = false;
  const rest = () => {
    drawn?.stop();
    known = null;
    busy = false;
    tools.rest();
    element.classList.remove("drawing", "keeping");
  };
  const card = makeCard(() => {
    selected.clear();
    rest();
  });
  const selected = selection(map, config, card, () => busy, {
    edit(facts) {
      if (!canOpen(facts.geometry)) {
        toast("This shape has several parts, holes or heights. Change it in a GIS and post it again.");
        return;
      }
      const { geometry } = facts;
      card.hide();
      known = facts;
      busy = true;
      element.classList.add("drawing");
      draws().open(geometry);
      tools.moving();
    },
    async remove(facts) {
      const kept = await postJson<Kept>(address(config.delete, { id: facts.id }), {});
      card.hide();
      renew(kept, "The shape was deleted.");
    },
  });
  const tools = makeTools({
    begin(kind) {
      card.hide();
      busy = true;
      element.classList.add("drawing");
      draws().begin(kind);
    },
    place: () => draws().place(),
    finish: () => draws().finish(),
    undo: () => draws().undo(),
    cancel: rest,
  });
  const draws = (): Drawing =>
    (drawn ??= drawing(map, () => config.layers.flatMap(partsOf), {
      changed: (geometry) => tools.measured(geometry ? measuredText(geometry) : ""),
      finished(geometry) {
        element.classList.add("keeping");
        keepShape(config, card, geometry, known, (kept) => {
          const words = known ? "The change is saved." : "The shape is saved.";
          card.hide();
          renew(kept, words);
        });
      },
    }));
  const renew = ({ layerId, revision }: Kept, words: string) => {
    const layer = config.layers.find(({ id }) => id === layerId);
    // A layer that was made on the way is in no list of this page yet.
    if (!layer) {
      reloadSaying(words);
      return;
    }
    renewLayer(map, layer, revision);
    toast(words);
  };

  const top = el("div", { class: "map-left" }, panel.element);
  if (config.canEdit) top.append(tools.element);
  element.append(top, card.element, el("div", { class: "map-cross", "aria-hidden": "true" }));
  const where = whereabouts(map);
  map.addControl({ onAdd: () => where, onRemove: () => where.remove() }, "bottom-left");
  map.getCanvas().addEventListener("keydown", (event) => {
    if (!busy || event.key !== " ") return;
    event.preventDefault();
    draws().place();
  });
  void selected.reopen();
  followAddress();
}

/** Where to look first, unless the address says. */
function start(config: MapConfig): {
  center?: [number, number];
  zoom?: number;
  bounds?: Bounds;
  fitBoundsOptions?: object;
} {
  if (addressHasView()) return {};
  const within = (bounds: Bounds) => ({ bounds, fitBoundsOptions: { padding: 72, maxZoom: 17 } });
  if (config.folder?.bbox) return within(boundsOf(config.folder.bbox));
  const view = firstView(config);
  if (view) return view;
  const all = config.layers.flatMap(({ bounds }) => (bounds ? [bounds] : []));
  if (all.length === 0) return { center: [8, 30], zoom: 1.6 };
  return within([
    Math.min(...all.map(([west]) => west)),
    Math.min(...all.map(([, south]) => south)),
    Math.max(...all.map(([, , east]) => east)),
    Math.max(...all.map(([, , , north]) => north)),
  ]);
}

/** The position under the pointer, or of the middle where there is none. */
function whereabouts(map: MapLibre): HTMLElement {
  const element = el("output", { class: "maplibregl-ctrl map-where coord", "aria-label": "Position" });
  const tell = (lng: number, lat: number) => {
    const digits = Math.max(2, Math.min(7, Math.round(map.getZoom() / 3) + 1));
    element.textContent = positionText([lng, lat], digits);
  };
  const middle = () => tell(map.getCenter().lng, map.getCenter().lat);
  map.on("mousemove", ({ lngLat }) => tell(lngLat.lng, lngLat.lat));
  map.on("move", middle);
  middle();
  return element;
}
