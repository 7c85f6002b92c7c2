// Snaps a drawn vertex to the vertices of the features on the map.

import type { Position } from "geojson";
import type { Map as MapLibre } from "maplibre-gl";
import type { SnapToCustom } from "terra-draw";
import { forEachPosition, roundPosition } from "./positions";

/** Snapping distance in pixels. */
const DISTANCE = 10;

/** Finds the nearest vertex within the snapping distance. */
export function snapToVertices(map: MapLibre, layers: () => string[]): SnapToCustom {
  return ({ containerX, containerY }) => {
    const box: [[number, number], [number, number]] = [
      [containerX - DISTANCE, containerY - DISTANCE],
      [containerX + DISTANCE, containerY + DISTANCE],
    ];
    let nearest: Position | undefined;
    let nearestDistance = DISTANCE;
    for (const { geometry } of map.queryRenderedFeatures(box, { layers: layers() })) {
      forEachPosition(geometry, (position) => {
        const { x, y } = map.project([position[0] ?? 0, position[1] ?? 0]);
        const distance = Math.hypot(x - containerX, y - containerY);
        if (distance >= nearestDistance) return;
        nearestDistance = distance;
        nearest = position;
      });
    }
    return nearest && roundPosition(nearest);
  };
}
