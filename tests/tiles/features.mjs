// The features that the tests post. Isolated features of every type and size lie far from each other, so
// every zoom contains all of them. Parcels lie close together in towns, so low zooms contain only some.

/** A random number generator with the same numbers in every run. */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = createRandom(7);

/** A slightly irregular ring around a center. */
function ring([x, y], size, vertices) {
  const positions = Array.from({ length: vertices }, (_, index) => {
    const angle = (2 * Math.PI * index) / vertices;
    const radius = size * (0.8 + 0.2 * random());
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle) * 0.6];
  });
  return [...positions, positions[0]];
}

const hole = (center, size, vertices) => ring(center, size, vertices).reverse();

/** A wavy line through a center. */
function path([x, y], size, vertices) {
  return Array.from({ length: vertices }, (_, index) => [
    x + size * (index / vertices - 0.5),
    y + size * 0.3 * Math.sin((9 * index) / vertices) + size * 0.02 * random(),
  ]);
}

/** Functions that create a geometry of a size around a center. */
const shapes = [
  (center) => ({ type: "Point", coordinates: center }),
  (center, size) => ({ type: "MultiPoint", coordinates: path(center, size, 6) }),
  (center, size) => ({ type: "LineString", coordinates: path(center, size, 9) }),
  (center, size) => ({ type: "LineString", coordinates: path(center, size, 600) }),
  ([x, y], size) => ({
    type: "MultiLineString",
    coordinates: [path([x, y - size / 3], size, 7), path([x, y + size / 3], size, 150)],
  }),
  (center, size) => ({ type: "Polygon", coordinates: [ring(center, size, 7)] }),
  (center, size) => ({ type: "Polygon", coordinates: [ring(center, size, 240)] }),
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

/** In degrees: from two meters to several hundred kilometers. */
const sizes = [0.00002, 0.0004, 0.006, 0.09, 0.8, 4];

function createIsolated() {
  const features = [];
  for (const [row, size] of sizes.entries()) {
    for (const [column, shape] of shapes.entries()) {
      const number = features.length;
      const center = [-170 + 34 * column + 3 * random(), -62 + 25 * row + 3 * random()];
      features.push({
        type: "Feature",
        id: `shape ${number}`,
        geometry: shape(center, size),
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

/** The south-western corner of each town, and the number of parcels along its side. */
export const towns = [
  { corner: [2.0, 47.5], side: 60 },
  { corner: [4.5, 44.6], side: 30 },
  { corner: [-0.9, 44.9], side: 12 },
];

/** The side of a parcel, and the distance from one parcel to the next, in degrees. */
const PARCEL_SIZE = 0.0006;
export const PARCEL_SPACING = 0.0007;

function createParcels() {
  const features = [];
  for (const { corner, side } of towns) {
    for (let index = 0; index < side * side; index += 1) {
      const x = corner[0] + (index % side) * PARCEL_SPACING;
      const y = corner[1] + Math.floor(index / side) * PARCEL_SPACING;
      const [east, north] = [x + PARCEL_SIZE, y + PARCEL_SIZE];
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

export const featureCollection = (features) => ({ type: "FeatureCollection", features });

export const isolated = createIsolated();
export const parcels = createParcels();
