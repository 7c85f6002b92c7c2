// MapLibre draws a layer in Chromium, given only a token and the URL of the layer's TileJSON. The test
// counts colored pixels, and saves the screenshots in the directory OUT.

import assert from "node:assert/strict";
import path from "node:path";
import { openBrowser } from "./browser.mjs";
import { geoUrl, postGeometries, token } from "./client.mjs";
import { featureCollection, PARCEL_SPACING, parcels, towns } from "./features.mjs";
import { project } from "./mercator.mjs";

/** The width and height of the map in pixels. */
const SIZE = 512;
const COLOR = "#c02942";
/** A large rectangle with a hole, far from the towns. */
const FIELD = { west: 10, south: 50, east: 14, north: 52 };
const HOLE = { west: 11, south: 50.5, east: 12, north: 51.5 };
const WHOLE_MAP = { left: 0, top: 0, right: SIZE, bottom: SIZE };

const out = process.env.OUT;
const tilejson = await postGeometries("maplibre", featureCollection([...parcels, field()]));
const { browser, pageUrl, close } = await openBrowser({ width: SIZE, height: SIZE });
try {
  await largePolygonCoversExactlyItsArea();
  await townsAreVisibleAtLowZooms();
  await parcelsAreSeparateAtHighZooms();
  console.log("maplibre-gl: the layer is drawn in the right place and size at low and high zooms");
} finally {
  await close();
}

async function largePolygonCoversExactlyItsArea() {
  const view = { center: [12, 51], zoom: 5 };
  const { rows, featureCount } = await draw("field", view);
  assert(featureCount >= 1);
  const [outer, inner] = [toScreen(FIELD, view), toScreen(HOLE, view)];
  const expected = boxArea(outer) - boxArea(inner);
  const found = countColored(rows, WHOLE_MAP);
  // Pixels along the edges may be partly colored.
  const edges = 2 * [outer, inner].reduce((sum, box) => sum + box.right - box.left + box.bottom - box.top, 0);
  assert(Math.abs(found - expected) < 0.75 * edges, `${found} pixels are colored instead of ${expected}`);
  assert.equal(countColored(rows, inset(inner, 3)), 0, "the hole is empty");
  const left = inset({ ...outer, right: inner.left }, 3);
  assert.equal(countColored(rows, left), boxArea(left), "there are no gaps between tiles");
}

/** A parcel is smaller than a pixel here, but a town must still be visible, and a larger town larger. */
async function townsAreVisibleAtLowZooms() {
  for (const zoom of [4, 5, 6]) {
    const view = { center: [1.8, 46], zoom };
    const { rows } = await draw(`towns-${zoom}`, view);
    const counts = towns.map(({ corner: [west, south], side }) => {
      const size = side * PARCEL_SPACING;
      return countColored(rows, inset(toScreen({ west, south, east: west + size, north: south + size }, view), -2));
    });
    assert(counts.every((count) => count > 0), `zoom ${zoom}: the towns have ${counts} pixels`);
    if (zoom >= 6) assert(counts[0] > counts[1] && counts[1] > counts[2], `zoom ${zoom}: ${counts}`);
    const inTowns = counts.reduce((sum, count) => sum + count, 0);
    const inField = countColored(rows, inset(toScreen(FIELD, view), -2));
    const elsewhere = countColored(rows, WHOLE_MAP) - inTowns - inField;
    assert.equal(elsewhere, 0, `zoom ${zoom}: pixels are colored where no feature is`);
  }
}

async function parcelsAreSeparateAtHighZooms() {
  const [x, y] = towns[0].corner;
  const view = { center: [x + 20 * PARCEL_SPACING, y + 20 * PARCEL_SPACING], zoom: 16 };
  const { rows, featureCount } = await draw("parcels", view);
  assert(featureCount > 50, `the map contains only ${featureCount} parcels`);
  const box = inset(WHOLE_MAP, 20);
  const share = countColored(rows, box) / boxArea(box);
  // Parcels cover six sevenths of the distance between them, in both directions.
  const expected = (6 / 7) ** 2;
  assert(Math.abs(share - expected) < 0.05, `${share} of the map is colored instead of ${expected}`);
}

/** Draws the layer and returns the colored pixels and the number of features in view. */
async function draw(name, { center, zoom }) {
  const page = await browser.newPage();
  const tilejsonUrl = tilejson.tiles[0].replace("/{z}/{x}/{y}", ".json");
  const options = { tilejsonUrls: [tilejsonUrl], token, geoUrl, center, zoom, color: COLOR };
  const log = [];
  page.on("console", (message) => log.push(message.text()));
  page.on("pageerror", (error) => log.push(String(error)));
  const hash = encodeURIComponent(JSON.stringify(options));
  await page.goto(`${pageUrl}#${hash}`);
  await page
    .waitForFunction(() => window.isDone || window.errors?.length, null, { timeout: 60_000 })
    .catch((error) => { throw new Error(`${name}: ${error.message}\n${log.join("\n")}`); });
  assert.deepEqual(await page.evaluate(() => window.errors), [], name);
  const featureCount = await page.evaluate(() => window.featureCount);
  const screenshot = await page.locator("#map").screenshot({ path: path.join(out, `${name}.png`) });
  const rows = await page.evaluate(findColoredPixels, screenshot.toString("base64"));
  await page.close();
  return { rows, featureCount };
}

/** Runs in the page. Returns a string for each row of pixels, with "#" for colored and "." for white. */
async function findColoredPixels(png) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const rows = [];
  for (let y = 0; y < image.height; y += 1) {
    let row = "";
    for (let x = 0; x < image.width; x += 1) {
      const green = data[4 * (y * image.width + x) + 1];
      row += green < 240 ? "#" : ".";
    }
    rows.push(row);
  }
  return rows;
}

function countColored(rows, { left, top, right, bottom }) {
  const [first, last] = [Math.max(0, left), Math.min(SIZE, right)];
  const inBox = rows.slice(Math.max(0, top), Math.max(0, Math.min(SIZE, bottom)));
  return inBox.reduce((sum, row) => sum + row.slice(first, last).split("#").length - 1, 0);
}

function boxArea({ left, top, right, bottom }) {
  return (right - left) * (bottom - top);
}

/** Moves the sides of a box inward by a distance, or outward by a negative one. */
function inset({ left, top, right, bottom }, distance) {
  return { left: left + distance, top: top + distance, right: right - distance, bottom: bottom - distance };
}

/** Converts a bounding box to pixels of the map. */
function toScreen({ west, south, east, north }, { center, zoom }) {
  const scale = SIZE * 2 ** zoom;
  const [centerX, centerY] = project(center);
  const toPixel = (position) => {
    const [x, y] = project(position);
    return [Math.round((x - centerX) * scale + SIZE / 2), Math.round((y - centerY) * scale + SIZE / 2)];
  };
  const [[left, top], [right, bottom]] = [toPixel([west, north]), toPixel([east, south])];
  return { left, top, right, bottom };
}

function field() {
  const ring = ({ west, south, east, north }) => [
    [west, south], [east, south], [east, north], [west, north], [west, south],
  ];
  const coordinates = [ring(FIELD), ring(HOLE).reverse()];
  return { type: "Feature", id: "field", properties: {}, geometry: { type: "Polygon", coordinates } };
}
