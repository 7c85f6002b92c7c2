// Where a position is on the map, and how far things are from each other, in the units of a tile.

export const EXTENT = 4096;
/** The margin that is drawn around a tile. */
export const BUFFER = 64;

/** The place of a position in the square world, from 0 to 1. */
export function world([longitude, latitude]) {
  const sine = Math.sin((latitude * Math.PI) / 180);
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

export function tileAt(position, z) {
  const [x, y] = world(position).map((value) => Math.floor(value * 2 ** z));
  return { z, x, y };
}

/** The place of a position in a tile, in its units. */
export function inTile(position, { z, x, y }) {
  const [wx, wy] = world(position);
  return [(wx * 2 ** z - x) * EXTENT, (wy * 2 ** z - y) * EXTENT];
}

/** Twice the area of a ring that ends where it begins; positive for an outer ring of a tile. */
export function area(ring) {
  let sum = 0;
  for (let index = 1; index < ring.length; index += 1) {
    const [[x0, y0], [x1, y1]] = [ring[index - 1], ring[index]];
    sum += x0 * y1 - x1 * y0;
  }
  return sum;
}

export function length(path) {
  let sum = 0;
  for (let index = 1; index < path.length; index += 1) {
    sum += Math.hypot(path[index][0] - path[index - 1][0], path[index][1] - path[index - 1][1]);
  }
  return sum;
}

/** How far a point is from the nearest of some paths. */
export function distance(point, paths) {
  let least = Infinity;
  for (const path of paths) {
    if (path.length === 1) least = Math.min(least, Math.hypot(path[0][0] - point[0], path[0][1] - point[1]));
    for (let index = 1; index < path.length; index += 1) {
      least = Math.min(least, toSegment(point, path[index - 1], path[index]));
    }
  }
  return least;
}

function toSegment([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const square = dx * dx + dy * dy;
  const along = square === 0 ? 0 : Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / square));
  return Math.hypot(x - x0 - along * dx, y - y0 - along * dy);
}
