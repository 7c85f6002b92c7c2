import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./import-source.mjs";

const { destination, distance, ringArea } = await importSource("map/geodesy.ts");
const { measure } = await importSource("map/measure.ts");
const { parseCoordinate, parseNumber } = await importSource("map/parse-coordinate.ts");
const { createHistory } = await importSource("map/history.ts");
const sketches = await importSource("map/sketch.ts");
const { nearestSnap } = await importSource("map/snap-geometry.ts");
const { findCrossings, joinGeometries, repairPolygon, splitGeometry } =
  await importSource("map/polygon-operations.ts");

const polygon = (...coordinates) => ({ type: "Polygon", coordinates });
const line = (...coordinates) => ({ type: "LineString", coordinates });
/** A closed counterclockwise rectangle. */
const box = (west, south, east, north) => [
  [west, south],
  [east, south],
  [east, north],
  [west, north],
  [west, south],
];
/** The area in square degrees, minus holes. */
const flatArea = ({ type, coordinates }) => {
  const ring = (points) =>
    Math.abs(points.slice(1).reduce((sum, [x, y], at) => sum + points[at][0] * y - x * points[at][1], 0) / 2);
  const parts = type === "Polygon" ? [coordinates] : coordinates;
  return parts.reduce(
    (sum, [outer, ...holes]) => holes.reduce((left, hole) => left - ring(hole), sum + ring(outer)),
    0,
  );
};
const assertClose = (actual, expected, tolerance) =>
  assert(Math.abs(actual - expected) <= tolerance, `${actual} is not ${expected}`);

test("distances agree with the published test line from Flinders Peak to Buninyong", () => {
  const flindersPeak = [144 + 25 / 60 + 29.5244 / 3600, -(37 + 57 / 60 + 3.7203 / 3600)];
  const buninyong = [143 + 55 / 60 + 35.3839 / 3600, -(37 + 39 / 60 + 10.1561 / 3600)];
  assertClose(distance(flindersPeak, buninyong), 54972.271, 0.002);
  const [lon, lat] = destination(flindersPeak, 54972.271, 306 + 52 / 60 + 5.37 / 3600);
  assertClose(lon, buninyong[0], 1e-7);
  assertClose(lat, buninyong[1], 1e-7);
  assert.equal(distance([2, 48], [2, 48]), 0);
  assertClose(distance([0, 0], [179.9, 0.1]), 20_000_000, 50_000);
});

test("a typed length is the measured length in every direction", () => {
  for (const bearing of [0, 37.5, 90, 180, 271, 359.9]) {
    const end = destination([2.35, 48.85], 123.45, bearing);
    assertClose(distance([2.35, 48.85], end), 123.45, 1e-5);
  }
});

test("the area of the Earth is that of its ellipsoid", () => {
  const whole = ringArea(box(-180, -90, 180, 90));
  assertClose(Math.abs(whole) / 1e12, 510.0656, 0.0001);
});

test("parses coordinates in degrees with decimals", () => {
  const paris = [2.35, 48.85];
  for (const text of [
    "48.85, 2.35",
    "48.85,2.35",
    "48.85 2.35",
    "48,85 2,35",
    "48,85; 2,35",
    "48,85, 2,35",
    "48.85° N, 2.35° E",
    "N 48.85 E 2.35",
    "2.35 E 48.85 N",
    "2.35° E, 48.85° N",
    "48.85;2.35",
    "48.85 N 2.35 E",
    "  +48.85 / 2.35 ",
  ])
    assert.deepEqual(parseCoordinate(text), paris, text);
  assert.deepEqual(parseCoordinate("-33.9, 18.4"), [18.4, -33.9]);
  assert.deepEqual(parseCoordinate("33.9 S 70.5 W"), [-70.5, -33.9]);
  assert.deepEqual(parseCoordinate("-33.5, -70.25"), [-70.25, -33.5]);
  assert.deepEqual(parseCoordinate("40.5 N 3.25 O"), [-3.25, 40.5]);
  assert.deepEqual(parseCoordinate("48,2"), [2, 48]);
  assert.deepEqual(parseCoordinate("47.6528 N  2.0841 W"), [-2.0841, 47.6528]);
});

test("parses coordinates in degrees, minutes and seconds", () => {
  for (const text of [
    `48°51'24" N 2°21'3" E`,
    "48° 51′ 24″ N, 2° 21′ 3″ E",
    "48 51 24 N 2 21 3 E",
    "48 51 24, 2 21 3",
    "48°51.4'N 2°21.05'E",
    "48° 51.4' N, 2° 21.05' E",
    "N48°51'24\" E2°21'3\"",
  ]) {
    const [lon, lat] = parseCoordinate(text) ?? [];
    assertClose(lat, 48 + 51 / 60 + 24 / 3600, 1e-9);
    assertClose(lon, 2 + 21 / 60 + 3 / 3600, 1e-9);
  }
  assertClose(parseCoordinate(`0°30'0" S 0°15'0" W`)[0], -0.25, 1e-12);
  assertClose(parseCoordinate("-0 30 0, 10 0 0")[1], -0.5, 1e-12);
});

test("rejects texts that are no coordinates", () => {
  for (const text of [
    "",
    "48.85",
    "91, 0",
    "0, 181",
    "48 61 0, 2 0 0",
    "48°61' N 2° E",
    "10 11 12 13 14",
    "1, x",
    "12",
    "48 N 2 N",
    "-48 N 2 E",
    "48 N 2",
    "1 2 3",
    "F-000123",
    "Chêne",
    "48.5 30 N 2 E",
  ])
    assert.equal(parseCoordinate(text), null, text);
});

test("parses numbers with a decimal comma", () => {
  assert.equal(parseNumber("12,5"), 12.5);
  assert.equal(parseNumber(" -3 "), -3);
  assert.equal(parseNumber("\u22123.5"), -3.5);
  for (const text of ["", "1,2,3", "abc", "1e5", "1 m"]) assert.equal(parseNumber(text), null, text);
});

test("undo goes back and redo forward until another change", () => {
  const history = createHistory("a");
  history.push("b");
  history.push("c");
  assert(history.undo() && history.undo());
  assert.equal(history.undo(), false);
  assert.equal(history.current(), "a");
  assert(history.redo());
  assert.equal(history.current(), "b");
  history.push("d");
  assert.equal(history.redo(), false);
  assert.equal(history.current(), "d");
});

test("a sketch keeps the type, holes and parts of a geometry", () => {
  const geometries = [
    { type: "Point", coordinates: [1, 2] },
    { type: "MultiPoint", coordinates: [[1, 2]] },
    line([0, 0], [1, 1]),
    { type: "MultiLineString", coordinates: [line([0, 0], [1, 1]).coordinates] },
    polygon(box(0, 0, 4, 4), box(1, 1, 2, 2)),
    { type: "MultiPolygon", coordinates: [[box(0, 0, 1, 1)], [box(2, 0, 3, 1)]] },
  ];
  for (const geometry of geometries)
    assert.deepEqual(sketches.geometryOf(sketches.sketchOf(geometry)), geometry);
  assert.equal(sketches.sketchOf({ type: "Point", coordinates: [1, 2, 3] }), null);
  assert.equal(sketches.sketchOf({ type: "GeometryCollection", geometries: [] }), null);
});

test("removing a vertex of a triangular hole removes the hole", () => {
  const hole = [
    [1, 1],
    [2, 1],
    [1, 2],
    [1, 1],
  ];
  const sketch = sketches.sketchOf(polygon(box(0, 0, 4, 4), hole));
  const changed = sketches.removeVertex(sketch, { part: 0, ring: 1, index: 0 });
  assert.deepEqual(sketches.geometryOf(changed), polygon(box(0, 0, 4, 4)));
  const triangle = sketches.sketchOf(polygon(hole));
  assert.equal(sketches.canRemoveVertex(triangle, { part: 0, ring: 0, index: 0 }), false);
});

test("snaps to a vertex before an edge, and exactly onto an edge", () => {
  const ring = box(2, 48, 2.001, 48.001);
  const tolerance = 0.0001;
  assert.deepEqual(nearestSnap([ring], [2.00002, 48.00008], tolerance), {
    kind: "vertex",
    position: [2, 48],
  });
  const { kind, position } = nearestSnap([ring], [2.0005, 48.00005], tolerance);
  assert.equal(kind, "edge");
  assertClose(position[1], 48, 1e-12);
  assertClose(position[0], 2.0005, 1e-12);
  assert.equal(nearestSnap([ring], [2.0005, 48.0005], tolerance), null);
});

test("finds where a polygon crosses itself", () => {
  assert.deepEqual(
    findCrossings(
      polygon([
        [0, 0],
        [2, 2],
        [2, 0],
        [0, 2],
        [0, 0],
      ]),
    ),
    [[1, 1]],
  );
  assert.deepEqual(findCrossings(polygon(box(0, 0, 4, 4), box(1, 1, 2, 2))), []);
  // A spike runs back along itself.
  assert(
    findCrossings(
      polygon([
        [0, 0],
        [2, 0],
        [4, 0],
        [2, 0],
        [2, 2],
        [0, 0],
      ]),
    ).length > 0,
  );
  // A hole that crosses the outline.
  assert.equal(findCrossings(polygon(box(0, 0, 4, 4), box(3, 1, 5, 2))).length, 2);
});

test("a ring that passes a vertex twice touches itself, and the repair separates its parts", () => {
  const ring = [
    [0, 0],
    [1, 1],
    [2, 0],
    [2, 2],
    [1, 1],
    [0, 2],
    [0, 0],
  ];
  assert.deepEqual(findCrossings(polygon(ring)), [[1, 1]]);
  const repaired = repairPolygon(polygon(ring));
  assert.equal(repaired.type, "MultiPolygon");
  assertClose(flatArea(repaired), 2, 1e-9);
  assert.deepEqual(findCrossings(repaired), []);
});

test("repairs a bow tie and a star by the even-odd rule", () => {
  const bowTie = repairPolygon(
    polygon([
      [0, 0],
      [2, 2],
      [2, 0],
      [0, 2],
      [0, 0],
    ]),
  );
  assert.equal(bowTie.type, "MultiPolygon");
  assertClose(flatArea(bowTie), 2, 1e-8);
  assert.deepEqual(findCrossings(bowTie), []);
  const tip = (index) => [Math.sin((index * 4 * Math.PI) / 5), Math.cos((index * 4 * Math.PI) / 5)];
  const star = repairPolygon(polygon([tip(0), tip(1), tip(2), tip(3), tip(4), tip(0)]));
  assert.equal(star.coordinates.length, 5);
  assert.deepEqual(repairPolygon(polygon(box(0, 0, 1, 1))).type, "Polygon");
  assert.equal(
    repairPolygon(
      polygon([
        [0, 0],
        [1, 1],
        [0, 0],
        [0, 0],
      ]),
    ),
    null,
  );
});

test("splits a polygon by a line that ends outside of it", () => {
  const parts = splitGeometry(polygon(box(0, 0, 4, 2)), line([1, -1], [1, 3]));
  assert.deepEqual(parts.map(flatArea), [6, 2]);
  assert.equal(splitGeometry(polygon(box(0, 0, 4, 2)), line([1, -1], [1, 1])), null);
  assert.equal(splitGeometry(polygon(box(0, 0, 4, 2)), line([5, -1], [5, 3])), null);
});

test("splits a polygon from vertex to vertex, through a hole and beside one", () => {
  const diagonal = splitGeometry(polygon(box(0, 0, 2, 2)), line([0, 0], [2, 2]));
  assert.deepEqual(diagonal.map(flatArea), [2, 2]);
  const holed = polygon(box(0, 0, 6, 4), box(2, 1, 4, 3));
  const through = splitGeometry(holed, line([3, -1], [3, 5]));
  assert.deepEqual(through.map(flatArea), [10, 10]);
  const beside = splitGeometry(holed, line([1, -1], [1, 5]));
  assert.deepEqual(beside.map(flatArea), [16, 4]);
  assert.equal(beside[0].coordinates.length, 2);
});

test("a line that crosses several times leaves several parts of the same total area", () => {
  let seed = 7;
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  for (let round = 0; round < 200; round += 1) {
    // A star-shaped ring around the origin never crosses itself.
    const corners = Array.from({ length: 12 }, (_, index) => {
      const radius = 0.0005 + 0.001 * random();
      const angle = (index * Math.PI) / 6;
      return [2 + radius * Math.cos(angle), 48 + radius * Math.sin(angle)];
    });
    const shape = polygon([...corners, corners[0]]);
    const cut = line(
      ...Array.from({ length: 4 }, () => [2 + 0.004 * (random() - 0.5), 48 + 0.004 * (random() - 0.5)]),
    );
    const parts = splitGeometry(shape, cut);
    if (!parts) continue;
    const total = parts.reduce((sum, part) => sum + measure(part).area, 0);
    assertClose(total / measure(shape).area, 1, 1e-6);
    for (const part of parts) assert.deepEqual(findCrossings(part), [], JSON.stringify({ shape, cut }));
  }
});

test("parts that the line does not split stay with the largest piece", () => {
  const parts = [[box(0, 0, 4, 2)], [box(6, 0, 7, 1)]];
  const pieces = splitGeometry({ type: "MultiPolygon", coordinates: parts }, line([1, -1], [1, 3]));
  assert.deepEqual(
    pieces.map(({ type }) => type),
    ["MultiPolygon", "Polygon"],
  );
  assert.deepEqual(pieces.map(flatArea), [7, 2]);
});

test("splits a line where it is crossed", () => {
  const parts = splitGeometry(line([0, 0], [4, 0]), line([1, -1], [1, 1], [3, 1], [3, -1]));
  assert.equal(parts.length, 3);
  assert.equal(splitGeometry(line([0, 0], [4, 0]), line([0, -1], [0, 1])), null);
});

test("joins polygons with a common edge, whatever vertices they have on it", () => {
  const joined = joinGeometries(polygon(box(0, 0, 1, 1)), polygon(box(1, 0, 2, 1)));
  assert.equal(joined.type, "Polygon");
  assertClose(flatArea(joined), 2, 1e-9);
  const offset = joinGeometries(polygon(box(0, 0, 1, 1)), polygon(box(1, 0.5, 2, 3)));
  assert.equal(offset.type, "Polygon");
  assertClose(flatArea(offset), 3.5, 1e-9);
  const overlapping = joinGeometries(polygon(box(0, 0, 2, 2)), polygon(box(1, 1, 3, 3)));
  assertClose(flatArea(overlapping), 7, 1e-8);
  assert.equal(joinGeometries(polygon(box(0, 0, 1, 1)), polygon(box(2, 0, 3, 1))), null);
  // A common corner is no common edge.
  assert.equal(joinGeometries(polygon(box(0, 0, 1, 1)), polygon(box(1, 1, 2, 2))), null);
});

test("joining a polygon with the one in its hole fills the hole", () => {
  const joined = joinGeometries(polygon(box(0, 0, 4, 4), box(1, 1, 2, 2)), polygon(box(1, 1, 2, 2)));
  assert.equal(joined.coordinates.length, 1);
  assertClose(flatArea(joined), 16, 1e-9);
});

test("the parts of a split polygon can be joined again", () => {
  const shape = polygon(box(2, 48, 2.003, 48.002));
  const [one, other] = splitGeometry(shape, line([2.0011, 47.9], [2.0017, 48.1]));
  assertClose(measure(joinGeometries(one, other)).area, measure(shape).area, 0.01);
});

test("joins lines at a common end", () => {
  const joined = joinGeometries(line([0, 0], [1, 0]), line([2, 0], [1, 0]));
  assert.deepEqual(joined, line([0, 0], [1, 0], [2, 0]));
  assert.equal(joinGeometries(line([0, 0], [1, 0]), line([2, 0], [3, 0])), null);
});
