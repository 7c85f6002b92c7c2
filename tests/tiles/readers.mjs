// Tiles as npm's @mapbox/vector-tile reads them, compared with the features that were posted, at
// every zoom. What was fetched is left in the folder OUT for the other reader, readers.py.

import { VectorTile } from "@mapbox/vector-tile";
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { PbfReader } from "pbf";
import { BUFFER, EXTENT, area, distance, inTile, length, tileAt } from "./mercator.mjs";
import { post, tile as fetchTile } from "./program.mjs";
import { collection, source } from "./source.mjs";

/** How far what is drawn may be from what was posted: positions are cut to whole units, north-west of
 * them, and where a line leaves the tile is rounded once more. */
const TOLERANCE = Math.SQRT2 + 0.5;
/** The same for a shape that has no size in a tile and is drawn as a small square or dash, which is
 * moved where it would reach out of the margin. */
const STAND_IN = 13;

const out = process.env.OUT;
await mkdir(`${out}/tiles`, { recursive: true });
const features = [...source.alone, ...source.parcels];
await writeFile(`${out}/source.json`, JSON.stringify({ alone: source.alone, parcels: source.parcels }));
const tilejson = await post("readers", collection(features));

const KINDS = [null, "Point", "LineString", "Polygon"];
const byKey = new Map(features.map((feature) => [feature.properties.key, feature]));
/** The ids that a feature was seen with, by its key and the kind of the part. */
const ids = new Map();
let compared = 0;

for (const tiles of inGroups(addresses(), 16)) {
  await Promise.all(tiles.map(check));
}
assert(compared > 2000, `only ${compared} features were compared`);
const owners = new Map();
for (const [part, id] of ids) {
  assert(!owners.has(id), `${part} and ${owners.get(id)} share the id ${id}`);
  owners.set(id, part);
}
console.log(`@mapbox/vector-tile: ${compared} features in tiles of every zoom are where they were posted`);

/** The tiles to look at: over a few positions of every shape and some of the parcels. */
function addresses() {
  const found = new Map();
  const some = [...source.alone, ...source.parcels.filter((_, index) => index % 1500 === 0)];
  for (const { geometry } of some) {
    const all = parts(geometry).flatMap(({ paths }) => paths.flat());
    const positions = [0, 0.4, 0.8].map((part) => all[Math.floor(part * all.length)]);
    for (let z = tilejson.minzoom; z <= tilejson.maxzoom; z += 1) {
      for (const position of positions) {
        const tile = tileAt(position, z);
        found.set(name(tile), tile);
      }
    }
  }
  return [...found.values()];
}

async function check(tile) {
  const bytes = await fetchTile(tilejson, tile);
  await writeFile(`${out}/tiles/${name(tile)}.mvt`, bytes);
  assert(bytes.length < 500_000 || tile.z === tilejson.maxzoom, `${name(tile)} weighs ${bytes.length}`);
  const layers = new VectorTile(new PbfReader(bytes)).layers;
  const layer = layers[tilejson.vector_layers[0].id];
  assert.deepEqual(Object.keys(layers), [tilejson.vector_layers[0].id]);
  assert.deepEqual([layer.version, layer.extent], [2, EXTENT]);
  const drawn = new Map();
  for (let index = 0; index < layer.length; index += 1) {
    const feature = layer.feature(index);
    const { key } = feature.properties;
    const part = `${key} as ${KINDS[feature.type]}`;
    assert(!drawn.has(part), `${part} comes twice in ${name(tile)}`);
    drawn.set(part, feature);
    assert(Number.isSafeInteger(feature.id), `${part} has the id ${feature.id}`);
    assert.equal(feature.id, ids.get(part) ?? feature.id, `${part} has another id in ${name(tile)}`);
    ids.set(part, feature.id);
    checkProperties(feature, byKey.get(key));
  }
  for (const feature of features) {
    const { key } = feature.properties;
    for (const { kind, paths } of parts(feature.geometry)) {
      const part = `${key} as ${kind}`;
      const wanted = paths.map((path) => path.map((position) => inTile(position, tile)));
      const isHere = wanted.flat().some((point) => point.every((value) => value >= 0 && value < EXTENT));
      // Each of these is alone in its cell, so it is in every tile over it.
      assert(drawn.has(part) || !isHere || key.startsWith("parcel"), `${part} is not in ${name(tile)}`);
      if (drawn.has(part)) {
        compare(`${part} in ${name(tile)}`, kind, wanted, drawn.get(part));
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

/** Compares what was posted with what is drawn, both in the units of the tile. */
function compare(what, kind, wanted, feature) {
  const drawn = feature.loadGeometry().map((path) => path.map(({ x, y }) => [x, y]));
  const isSmall = wanted.every((path) => extent(path) <= 2);
  const tolerance = isSmall ? STAND_IN : TOLERANCE;
  const source = kind === "Point" ? wanted.flat().map((point) => [point]) : wanted;
  const shown = kind === "Point" ? drawn.flat().map((point) => [point]) : drawn;
  for (const point of drawn.flat()) {
    const far = distance(point, source);
    // A clipped ring runs along the border, outside of what is seen; readers.py compares areas.
    const isFine = far <= tolerance || (onBorder(point) && kind === "Polygon");
    assert(isFine, `${what}: ${point} is ${far} units from where it should be`);
  }
  // What is too small to see is drawn once, and not at all beside something larger.
  const seen = source.filter((path) => kind === "Point" || extent(path) > 3);
  for (const point of seen.flat().filter(isInside)) {
    const far = distance(point, shown);
    assert(far <= tolerance, `${what}: ${point} is missing by ${far} units`);
  }
  if (kind === "Polygon") checkRings(what, wanted, drawn, feature);
}

function checkRings(what, wanted, drawn, feature) {
  const areas = drawn.map(area);
  assert(areas[0] > 0, `${what}: the first ring is a hole`);
  assert(areas.every((one) => one !== 0), `${what}: a ring without an area`);
  assert(drawn.every((ring) => ring.length >= 4 && same(ring[0], ring.at(-1))), `${what}: no ring`);
  const polygons = feature.toGeoJSON(0, 0, 0).geometry;
  const count = polygons.type === "Polygon" ? 1 : polygons.coordinates.length;
  assert.equal(count, areas.filter((one) => one > 0).length, `${what}: rings of no polygon`);
  const isWhole = wanted.flat().every(isInside) && wanted.every((ring) => extent(ring) > 4);
  if (isWhole) {
    assert.equal(drawn.length, wanted.length, `${what}: its rings`);
    const sum = (values) => values.reduce((one, other) => one + other, 0);
    // Outer rings are posted against the clock and seen from below here: their areas are negative.
    const off = Math.abs(sum(areas) + sum(wanted.map(area))) / 2;
    const most = 1.5 * sum(wanted.map(length)) + 12;
    assert(off <= most, `${what}: its area is off by ${off} square units`);
  }
}

function isInside(point) {
  return point.every((value) => value > 2 - BUFFER && value < EXTENT + BUFFER - 2);
}

function onBorder(point) {
  return point.some((value) => value === -BUFFER || value === EXTENT + BUFFER);
}

function same(one, other) {
  return one[0] === other[0] && one[1] === other[1];
}

function extent(points) {
  const side = (axis) => {
    const values = points.map((point) => point[axis]);
    return Math.max(...values) - Math.min(...values);
  };
  return Math.max(side(0), side(1));
}

/** The points, lines and rings of a geometry. */
function parts(geometry) {
  const { type, coordinates } = geometry;
  switch (type) {
    case "Point": return [{ kind: "Point", paths: [[coordinates]] }];
    case "MultiPoint": return [{ kind: "Point", paths: [coordinates] }];
    case "LineString": return [{ kind: "LineString", paths: [coordinates] }];
    case "MultiLineString": return [{ kind: "LineString", paths: coordinates }];
    case "Polygon": return [{ kind: "Polygon", paths: coordinates }];
    case "MultiPolygon": return [{ kind: "Polygon", paths: coordinates.flat() }];
    default: return geometry.geometries.flatMap(parts);
  }
}

function name({ z, x, y }) {
  return `${z}-${x}-${y}`;
}

function inGroups(items, size) {
  const groups = [];
  for (let start = 0; start < items.length; start += size) groups.push(items.slice(start, start + size));
  return groups;
}
