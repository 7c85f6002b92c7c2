// Web Mercator positions, and measurements in tile units.

export const EXTENT = 4096;
/** The width of the margin around a tile, in tile units. */
export const BUFFER = 64;

/** Projects a position to the unit square of the world. */
export function project([longitude, latitude]) {
  const sine = Math.sin((latitude * Math.PI) / 180);
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

/** The tile of a zoom that contains a position. */
export function tileAt(position, z) {
  const [x, y] = project(position).map((value) => Math.floor(value * 2 ** z));
  return { z, x, y };
}

/** Converts a position to tile units. */
export function toTileUnits(position, { z, x, y }) {
  const [worldX, worldY] = project(position);
  return [(worldX * 2 ** z - x) * EXTENT, (worldY * 2 ** z - y) * EXTENT];
}

/** Twice the area of a closed ring. Positive for an outer ring in a tile. */
export function doubleArea(ring) {
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

/** The distance from a point to the nearest of several paths. */
export function distance(point, paths) {
  let nearest = Infinity;
  for (const path of paths) {
    if (path.length === 1) {
      nearest = Math.min(nearest, Math.hypot(path[0][0] - point[0], path[0][1] - point[1]));
    }
    for (let index = 1; index < path.length; index += 1) {
      nearest = Math.min(nearest, distanceToSegment(point, path[index - 1], path[index]));
    }
  }
  return nearest;
}

function distanceToSegment([x, y], [x0, y0], [x1, y1]) {
  const [dx, dy] = [x1 - x0, y1 - y0];
  const squaredLength = dx * dx + dy * dy;
  const projection = squaredLength === 0 ? 0 : ((x - x0) * dx + (y - y0) * dy) / squaredLength;
  const fraction = Math.min(1, Math.max(0, projection));
  return Math.hypot(x - x0 - fraction * dx, y - y0 - fraction * dy);
}
