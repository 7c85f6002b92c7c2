// The features that the readers compare tiles with: some of every type, each alone in its part of
// the world, so that every zoom shows them all; and towns of parcels, which low zooms thin out.

/** Random numbers that are the same every time. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = randomFrom(7);

/** A ring of so many corners around a place, a little out of round. */
function ring([x, y], size, corners) {
  const at = (index) => {
    const angle = (2 * Math.PI * index) / corners;
    const far = size * (0.8 + 0.2 * random());
    return [x + far * Math.cos(angle), y + far * Math.sin(angle) * 0.6];
  };
  const positions = Array.from({ length: corners }, (_, index) => at(index));
  return [...positions, positions[0]];
}

const hole = (at, size, corners) => ring(at, size, corners).reverse();

function path([x, y], size, count) {
  const at = (index) => [
    x + size * (index / count - 0.5),
    y + size * 0.3 * Math.sin((9 * index) / count) + size * 0.02 * random(),
  ];
  return Array.from({ length: count }, (_, index) => at(index));
}

const shapes = [
  (at) => ({ type: "Point", coordinates: at }),
  (at, size) => ({ type: "MultiPoint", coordinates: path(at, size, 6) }),
  (at, size) => ({ type: "LineString", coordinates: path(at, size, 9) }),
  (at, size) => ({ type: "LineString", coordinates: path(at, size, 600) }),
  ([x, y], size) => ({
    type: "MultiLineString",
    coordinates: [path([x, y - size / 3], size, 7), path([x, y + size / 3], size, 150)],
  }),
  (at, size) => ({ type: "Polygon", coordinates: [ring(at, size, 7)] }),
  (at, size) => ({ type: "Polygon", coordinates: [ring(at, size, 240)] }),
  ([x, y], size) => ({
    type: "Polygon",
    coordinates: [
      ring([x, y], size, 12),
      hole([x - size / 3, y], size / 6, 5),
      hole([x + size / 3, y], size / 6, 40),
    ],
  }),
  ([x, y], size) => ({
    type: "MultiPolygon",
    coordinates: [
      [ring([x - size / 2, y], size / 3, 8), hole([x - size / 2, y], size / 9, 6)],
      [ring([x + size / 2, y], size / 3, 130)],
    ],
  }),
  ([x, y], size) => ({
    type: "GeometryCollection",
    geometries: [
      { type: "Polygon", coordinates: [ring([x, y], size / 2, 6)] },
      { type: "LineString", coordinates: path([x, y + size / 2], size, 8) },
      { type: "Point", coordinates: [x, y - size / 2] },
    ],
  }),
];

/** From two metres across to several hundred kilometres. */
const sizes = [0.00002, 0.0004, 0.006, 0.09, 0.8, 4];

function alone() {
  const features = [];
  for (const [row, size] of sizes.entries()) {
    for (const [column, shape] of shapes.entries()) {
      const number = features.length;
      const at = [-170 + 34 * column + 3 * random(), -62 + 25 * row + 3 * random()];
      features.push({
        type: "Feature",
        id: `shape ${number}`,
        geometry: shape(at, size),
        properties: {
          key: `shape ${number}`,
          name: `Chêne ${number % 4}`,
          whole: number * 1000003,
          below: -number - 1,
          part: number + 0.25,
          even: number % 2 === 0,
          list: [number, null],
          nothing: null,
        },
      });
    }
  }
  return features;
}

/** Towns by their south-western corners, with the parcels along a side. */
export const towns = [
  { at: [2.0, 47.5], side: 60 },
  { at: [4.5, 44.6], side: 30 },
  { at: [-0.9, 44.9], side: 12 },
];

/** The side of a parcel, and from one to the next, in degrees. */
const parcel = 0.0006;
export const step = 0.0007;

export function parcels() {
  const features = [];
  for (const { at, side } of towns) {
    for (let index = 0; index < side * side; index += 1) {
      const [x, y] = [at[0] + (index % side) * step, at[1] + Math.floor(index / side) * step];
      const [east, north] = [x + parcel, y + parcel];
      features.push({
        type: "Feature",
        id: `parcel ${features.length}`,
        geometry: {
          type: "Polygon",
          coordinates: [[[x, y], [east, y], [east, north], [x, north], [x, y]]],
        },
        properties: { key: `parcel ${features.length}` },
      });
    }
  }
  return features;
}

export const collection = (features) => ({ type: "FeatureCollection", features });

export const source = { alone: alone(), parcels: parcels() };
