// Decodes tiles of every zoom with @mapbox/vector-tile and compares them with the posted features. Saves
// the tiles and features in the directory OUT, where compare.py reads them.

import { VectorTile } from "@mapbox/vector-tile";
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { PbfReader } from "pbf";
import { getTile, postGeometries } from "./client.mjs";
import { featureCollection, isolated, parcels } from "./features.mjs";
import { BUFFER, EXTENT, distance, doubleArea, length, tileAt, toTileUnits } from "./mercator.mjs";

/** The permitted distance from the posted geometry, in tile units. The server rounds positions down to
 * whole units, and rounds again where it clips a line at the border. */
const TOLERANCE = Math.SQRT2 + 0.5;
/** The same for a geometry smaller than a unit. The server draws it as a small square or dash, and moves
 * it if it would leave the margin. */
const SMALL_TOLERANCE = 13;

const out = process.env.OUT;
await mkdir(`${out}/tiles`, { recursive: true });
const features = [...isolated, ...parcels];
await writeFile(`${out}/features.json`, JSON.stringify(features));
const tilejson = await postGeometries("compare", featureCollection(features));

/** Geometry types by their number in a tile. */
const TYPES = [null, "Point", "LineString", "Polygon"];
const featuresByKey = new Map(features.map((feature) => [feature.properties.key, feature]));
/** The id of each feature in tiles. A geometry collection has an id for each of its types. */
const ids = new Map();
let compared = 0;

for (const tiles of batches(tilesToCheck(), 16)) {
  await Promise.all(tiles.map(checkTile));
}
assert(compared > 2000, `only ${compared} features were compared`);
const owners = new Map();
for (const [part, id] of ids) {
  assert(!owners.has(id), `${part} and ${owners.get(id)} share the id ${id}`);
  owners.set(id, part);
}
console.log(`@mapbox/vector-tile: ${compared} features in tiles match the posted features`);

/** The tiles of every zoom that contain some positions of the isolated features and of a few parcels. */
function tilesToCheck() {
  const found = new Map();
  const sample = [...isolated, ...parcels.filter((_, index) => index % 1500 === 0)];
  for (const { geometry } of sample) {
    const all = parts(geometry).flatMap(({ paths }) => paths.flat());
    const positions = [0, 0.4, 0.8].map((fraction) => all[Math.floor(fraction * all.length)]);
    for (let z = tilejson.minzoom; z <= tilejson.maxzoom; z += 1) {
      for (const position of positions) {
        const tile = tileAt(position, z);
        found.set(tileName(tile), tile);
      }
    }
  }
  return [...found.values()];
}

async function checkTile(tile) {
  const bytes = await getTile(tilejson, tile);
  await writeFile(`${out}/tiles/${tileName(tile)}.mvt`, bytes);
  assert(bytes.length < 500_000 || tile.z === tilejson.maxzoom, `${tileName(tile)} has ${bytes.length} bytes`);
  const layers = new VectorTile(new PbfReader(bytes)).layers;
  const layer = layers[tilejson.vector_layers[0].id];
  assert.deepEqual(Object.keys(layers), [tilejson.vector_layers[0].id]);
  assert.deepEqual([layer.version, layer.extent], [2, EXTENT]);
  const decoded = new Map();
  for (let index = 0; index < layer.length; index += 1) {
    const feature = layer.feature(index);
    if ("groma_count" in feature.properties) {
      // An aggregate of polygons that are too small to be drawn alone.
      assert.deepEqual([feature.id, TYPES[feature.type]], [undefined, "Polygon"]);
      assert.deepEqual(Object.keys(feature.properties), ["groma_count"]);
      continue;
    }
    const { key } = feature.properties;
    const part = `${key} as ${TYPES[feature.type]}`;
    assert(!decoded.has(part), `${part} is in ${tileName(tile)} twice`);
    decoded.set(part, feature);
    assert(Number.isSafeInteger(feature.id), `${part} has the id ${feature.id}`);
    assert.equal(feature.id, ids.get(part) ?? feature.id, `${part} has a different id in ${tileName(tile)}`);
    ids.set(part, feature.id);
    checkProperties(feature, featuresByKey.get(key));
  }
  for (const feature of features) {
    const { key } = feature.properties;
    for (const { type, paths } of parts(feature.geometry)) {
      const part = `${key} as ${type}`;
      const posted = paths.map((path) => path.map((position) => toTileUnits(position, tile)));
      const isInTile = posted.flat().some((point) => point.every((value) => value >= 0 && value < EXTENT));
      const mayBeMissing = key.startsWith("parcel");
      assert(decoded.has(part) || !isInTile || mayBeMissing, `${part} is not in ${tileName(tile)}`);
      if (decoded.has(part)) {
        checkGeometry(`${part} in ${tileName(tile)}`, type, posted, decoded.get(part));
        compared += 1;
      }
    }
  }
}

function checkProperties({ properties }, { properties: posted }) {
  const expected = { ...posted };
  if ("list" in posted) expected.list = JSON.stringify(posted.list);
  delete expected.nothing;
  assert.deepEqual({ ...properties }, expected);
}

/** Compares the posted geometry with the one in the tile, both in tile units. */
function checkGeometry(label, type, posted, feature) {
  const decoded = feature.loadGeometry().map((path) => path.map(({ x, y }) => [x, y]));
  const isSmall = posted.every((path) => extent(path) <= 2);
  const tolerance = isSmall ? SMALL_TOLERANCE : TOLERANCE;
  const separatePoints = (paths) => (type === "Point" ? paths.flat().map((point) => [point]) : paths);
  const postedPaths = separatePoints(posted);
  const decodedPaths = separatePoints(decoded);
  for (const point of decoded.flat()) {
    const error = distance(point, postedPaths);
    // A clipped ring follows the border, outside of the visible part. compare.py compares areas.
    const isCorrect = error <= tolerance || (isOnBorder(point) && type === "Polygon");
    assert(isCorrect, `${label}: ${point} is ${error} units from the posted geometry`);
  }
  // Of several parts that are too small to see, only one is drawn, and none beside a larger part.
  const visible = postedPaths.filter((path) => type === "Point" || extent(path) > 3);
  for (const point of visible.flat().filter(isInside)) {
    const error = distance(point, decodedPaths);
    assert(error <= tolerance, `${label}: ${point} is ${error} units from the geometry in the tile`);
  }
  if (type === "Polygon") checkRings(label, posted, decoded, feature);
}

function checkRings(label, posted, decoded, feature) {
  const areas = decoded.map(doubleArea);
  assert(areas[0] > 0, `${label}: the first ring is a hole`);
  assert(areas.every((area) => area !== 0), `${label}: a ring has no area`);
  assert(decoded.every((ring) => ring.length >= 4 && isEqual(ring[0], ring.at(-1))), `${label}: a ring is open`);
  const polygons = feature.toGeoJSON(0, 0, 0).geometry;
  const count = polygons.type === "Polygon" ? 1 : polygons.coordinates.length;
  assert.equal(count, areas.filter((area) => area > 0).length, `${label}: number of polygons`);
  const isComplete = posted.flat().every(isInside) && posted.every((ring) => extent(ring) > 4);
  if (isComplete) {
    // A narrow polygon may fall apart.
    assert(decoded.length >= posted.length, `${label}: ${decoded.length} of ${posted.length} rings`);
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    // Posted rings have the opposite sign: the y axis of a tile points down.
    const error = Math.abs(sum(areas) + sum(posted.map(doubleArea))) / 2;
    const limit = 1.5 * sum(posted.map(length)) + 12;
    assert(error <= limit, `${label}: the area differs by ${error} square units`);
  }
}

function isInside(point) {
  return point.every((value) => value > 2 - BUFFER && value < EXTENT + BUFFER - 2);
}

function isOnBorder(point) {
  return point.some((value) => value === -BUFFER || value === EXTENT + BUFFER);
}

function isEqual(one, other) {
  return one[0] === other[0] && one[1] === other[1];
}

function extent(points) {
  const side = (axis) => {
    const values = points.map((point) => point[axis]);
    return Math.max(...values) - Math.min(...values);
  };
  return Math.max(side(0), side(1));
}

/** The parts of a geometry, each with its simple type and its points, lines or rings. */
function parts(geometry) {
  const { type, coordinates } = geometry;
  switch (type) {
    case "Point": return [{ type: "Point", paths: [[coordinates]] }];
    case "MultiPoint": return [{ type: "Point", paths: [coordinates] }];
    case "LineString": return [{ type: "LineString", paths: [coordinates] }];
    case "MultiLineString": return [{ type: "LineString", paths: coordinates }];
    case "Polygon": return [{ type: "Polygon", paths: coordinates }];
    case "MultiPolygon": return [{ type: "Polygon", paths: coordinates.flat() }];
    default: return geometry.geometries.flatMap(parts);
  }
}

function tileName({ z, x, y }) {
  return `${z}-${x}-${y}`;
}

function batches(items, size) {
  const result = [];
  for (let start = 0; start < items.length; start += size) result.push(items.slice(start, start + size));
  return result;
}
