import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./source.mjs";

const { areaText, lengthText, measure, measuredText, positionText } = await source("map/measure.ts");
const { flat } = await source("map/flat.ts");
const { parseView } = await source("map/remembered.ts");

/** A square whose sides are a thousandth of a degree. */
const square = (x, y, size = 0.001) => [
  [x, y],
  [x + size, y],
  [x + size, y + size],
  [x, y + size],
  [x, y],
];

test("a square at the equator measures what it should, to a millimetre in a metre", () => {
  const { length, area } = measure({ type: "Polygon", coordinates: [square(0, 0)] });
  const side = 111.19508;
  assert(Math.abs(length - 4 * side) < 0.01, length);
  assert(Math.abs(area - side * side) < 1, area);
});

test("a hole is not part of an area, and parts add up", () => {
  const whole = measure({ type: "Polygon", coordinates: [square(2, 47)] }).area;
  const hole = square(2.0002, 47.0002, 0.0002);
  const left = measure({ type: "Polygon", coordinates: [square(2, 47), hole] }).area;
  assert(left < whole && left > 0.95 * whole);
  const twice = measure({ type: "MultiPolygon", coordinates: [[square(2, 47)], [square(3, 47)]] }).area;
  assert(Math.abs(twice - 2 * whole) < 0.001);
});

test("measures are written as a surveyor would", () => {
  assert.equal(areaText(18_412), "1.84 ha");
  assert.equal(areaText(512), "512 m²");
  assert.equal(areaText(3.2e8), "320.0 km²");
  assert.equal(lengthText(12.345), "12.35 m");
  assert.equal(lengthText(2500), "2.50 km");
  assert.equal(measuredText({ type: "Point", coordinates: [1, 2] }), "");
  assert.equal(positionText([-2.0841, 47.6528], 4), "47.6528 N  2.0841 W");
  assert.equal(positionText([190, -10], 1), "10.0 S  170.0 W");
});

test("a ring that passes the antimeridian goes on past 180°", () => {
  const ring = flat([
    [170, 60],
    [-170, 60],
    [-170, 70],
    [170, 70],
    [170, 60],
  ]);
  assert.deepEqual(
    ring.map(([lon]) => lon),
    [170, 190, 190, 170, 170],
  );
});

test("a ring around a pole is closed along the map's edge", () => {
  const ring = flat([
    [-180, -70],
    [-60, -75],
    [60, -72],
    [179, -70],
    [-180, -70],
  ]);
  assert.deepEqual(ring.slice(-4), [
    [180, -70],
    [180, -90],
    [-180, -90],
    [-180, -70],
  ]);
});

test("only a sound position is taken from what was remembered", () => {
  assert.deepEqual(parseView("12.5/47.6/2.1"), { center: [2.1, 47.6], zoom: 12.5 });
  for (const text of [null, "", "1/2", "a/b/c", "5/91/0", "99/0/0"])
    assert.equal(parseView(text), null, text);
});
