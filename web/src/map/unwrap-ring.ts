import type { Position } from "geojson";

/**
 * Converts a ring on the sphere to a ring on a flat map. Rings of the atlas cross the antimeridian and
 * surround a pole. On a flat map such a ring continues beyond 180°, and a ring around a pole follows the
 * edge of the map.
 */
export function unwrapRing(ring: Position[]): Position[] {
  let turns = 0;
  let previous = ring[0]?.[0] ?? 0;
  const unwrapped = ring.map(([longitude = 0, latitude = 0]): [number, number] => {
    if (longitude - previous > 180) turns -= 1;
    else if (longitude - previous < -180) turns += 1;
    previous = longitude;
    return [longitude + 360 * turns, latitude];
  });
  const [first, last] = [unwrapped[0], unwrapped[unwrapped.length - 1]];
  if (!first || !last || turns === 0 || first[0] === last[0]) return unwrapped;
  const pole = last[1] < 0 ? -90 : 90;
  return [...unwrapped, [last[0], pole], [first[0], pole], first];
}
