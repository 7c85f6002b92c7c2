// Rings of a sphere on a flat map.

import type { Position } from "geojson";

/**
 * The atlas is made for a sphere: its rings run on over the antimeridian and around the pole. On a flat
 * map they go on past 180° instead, and around the pole along its edge.
 */
export function flat(ring: Position[]): Position[] {
  let turns = 0;
  let before = ring[0]?.[0] ?? 0;
  const out = ring.map(([lon = 0, lat = 0]): [number, number] => {
    if (lon - before > 180) turns -= 1;
    else if (lon - before < -180) turns += 1;
    before = lon;
    return [lon + 360 * turns, lat];
  });
  const [first, last] = [out[0], out[out.length - 1]];
  if (!first || !last || turns === 0 || first[0] === last[0]) return out;
  const pole = last[1] < 0 ? -90 : 90;
  return [...out, [last[0], pole], [first[0], pole], first];
}
