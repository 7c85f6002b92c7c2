import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./import-source.mjs";

const { formatArea, formatLength, formatPosition, formatSize, measure } =
  await importSource("map/measure.ts");
const { unwrapRing } = await importSource("map/unwrap-ring.ts");
const { parseView } = await importSource("map/saved-state.ts");

/** A square with sides of `size` degrees. */
const square = (x, y, size = 0.001) => [
  [x, y],
  [x + size, y],
  [x + size, y + size],
  [x, y + size],
  [x, y],
];

test("measures the perimeter and area of a square at the equator", () => {
  const { length, area } = measure({ type: "Polygon", coordinates: [square(0, 0)] });
  // On the ellipsoid, a degree along the equator is longer than one along a meridian.
  const [width, height] = [111.31949, 110.57427];
  assert(Math.abs(length - 2 * (width + height)) < 0.001, length);
  assert(Math.abs(area - width * height) < 0.1, area);
});

test("subtracts holes from an area and adds up its parts", () => {
  const whole = measure({ type: "Polygon", coordinates: [square(2, 47)] }).area;
  const hole = square(2.0002, 47.0002, 0.0002);
  const withHole = measure({ type: "Polygon", coordinates: [square(2, 47), hole] }).area;
  assert(withHole < whole && withHole > 0.95 * whole);
  const twoParts = measure({ type: "MultiPolygon", coordinates: [[square(2, 47)], [square(3, 47)]] }).area;
  assert(Math.abs(twoParts - 2 * whole) < 0.001);
});

test("formats sizes with a suitable unit", () => {
  assert.equal(formatArea(18_412), "1.84 ha");
  assert.equal(formatArea(512), "512 m²");
  assert.equal(formatArea(3.2e8), "320.0 km²");
  assert.equal(formatLength(12.345), "12.35 m");
  assert.equal(formatLength(2500), "2.50 km");
  assert.equal(formatSize({ type: "Point", coordinates: [1, 2] }), "");
});

test("formats positions with hemispheres", () => {
  assert.equal(formatPosition([-2.0841, 47.6528], 4), "47.6528 N  2.0841 W");
  assert.equal(formatPosition([190, -10], 1), "10.0 S  170.0 W");
});

test("a ring across the antimeridian continues beyond 180°", () => {
  const ring = unwrapRing([
    [170, 60],
    [-170, 60],
    [-170, 70],
    [170, 70],
    [170, 60],
  ]);
  assert.deepEqual(
    ring.map(([longitude]) => longitude),
    [170, 190, 190, 170, 170],
  );
});

test("a ring around a pole is closed along the edge of the map", () => {
  const ring = unwrapRing([
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

test("ignores a saved position that is not valid", () => {
  assert.deepEqual(parseView("12.5/47.6/2.1"), { center: [2.1, 47.6], zoom: 12.5 });
  for (const text of [null, "", "1/2", "a/b/c", "5/91/0", "99/0/0"])
    assert.equal(parseView(text), null, text);
});
