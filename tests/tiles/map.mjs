// MapLibre in a real Chromium draws a layer from the public tile route, with a token, given nothing
// but the address of its TileJSON. What is seen is counted in pixels; the pictures are left in OUT.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";
import { world } from "./mercator.mjs";
import { geoUrl, post, token } from "./program.mjs";
import { collection, parcels, step, towns } from "./source.mjs";

const SIDE = 512;
const COLOR = "#c02942";
/** A field with a clearing in it, in a place of its own. */
const FIELD = { west: 10, south: 50, east: 14, north: 52 };
const CLEARING = { west: 11, south: 50.5, east: 12, north: 51.5 };

const out = process.env.OUT;
const tilejson = await post("map", collection([...parcels(), field()]));
const here = path.dirname(new URL(import.meta.url).pathname);
const library = path.join(here, "node_modules/maplibre-gl/dist");
const server = createServer(serve).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const profile = await mkdtemp(path.join(tmpdir(), "groma-chromium-"));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM,
  headless: true,
  viewport: { width: SIDE, height: SIDE },
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  ],
});
try {
  await theFieldCoversWhatItShould();
  await theTownsAreSeenFromAfar();
  await parcelsAreSeenOneByOne();
  console.log("maplibre-gl: the layer is drawn where it is, as large as it is, from near and from afar");
} finally {
  await browser.close();
  server.close();
  await rm(profile, { recursive: true, force: true });
}

/** At a zoom where the field is large, its colour covers what its outline says. */
async function theFieldCoversWhatItShould() {
  const view = { center: [12, 51], zoom: 5 };
  const { pixels, shown } = await draw("field", view);
  assert(shown >= 1);
  const [outer, inner] = [onScreen(FIELD, view), onScreen(CLEARING, view)];
  const expected = size(outer) - size(inner);
  const found = count(pixels, { left: 0, top: 0, right: SIDE, bottom: SIDE });
  // Along its edges a pixel may be half a colour.
  const edges = 2 * [outer, inner].reduce((sum, box) => sum + box.right - box.left + box.bottom - box.top, 0);
  assert(Math.abs(found - expected) < 0.75 * edges, `${found} pixels are coloured, not ${expected}`);
  const clear = count(pixels, shrunk(inner, 3));
  assert.equal(clear, 0, "the clearing is clear");
  const full = shrunk({ ...outer, right: inner.left }, 3);
  assert(count(pixels, full) === size(full), "the field is filled without gaps between tiles");
}

/** Where a parcel is far smaller than a pixel, a town is still there, the larger the more of it. */
async function theTownsAreSeenFromAfar() {
  for (const zoom of [4, 5, 6]) {
    const view = { center: [1.8, 46], zoom };
    const { pixels } = await draw(`towns-${zoom}`, view);
    const seen = towns.map(({ at: [x, y], side }) => {
      const town = { west: x, south: y, east: x + side * step, north: y + side * step };
      return count(pixels, shrunk(onScreen(town, view), -2));
    });
    assert(seen.every((found) => found > 0), `zoom ${zoom}: of the towns ${seen} pixels are seen`);
    if (zoom >= 6) assert(seen[0] > seen[1] && seen[1] > seen[2], `zoom ${zoom}: ${seen}`);
    const all = count(pixels, { left: 0, top: 0, right: SIDE, bottom: SIDE });
    const others = all - seen.reduce((one, other) => one + other, 0) - fieldSeen(pixels, view);
    assert.equal(others, 0, `zoom ${zoom}: something is drawn where nothing is`);
  }
}

/** From near, parcels cover what they cover, with the paths between them. */
async function parcelsAreSeenOneByOne() {
  const [x, y] = towns[0].at;
  const view = { center: [x + 20 * step, y + 20 * step], zoom: 16 };
  const { pixels, shown } = await draw("parcels", view);
  assert(shown > 50, `${shown} parcels are shown`);
  const inside = { left: 20, top: 20, right: SIDE - 20, bottom: SIDE - 20 };
  const part = count(pixels, inside) / size(inside);
  const expected = (6 / 7) ** 2;
  assert(Math.abs(part - expected) < 0.05, `${part} of the ground is coloured, not ${expected}`);
}

/** Opens a map at a view and waits until it has come to rest. */
async function draw(name, { center, zoom }) {
  const page = await browser.newPage();
  const tilejsonUrl = tilejson.tiles[0].replace(/\/mvt\/.*/, "/tilejson");
  const given = { tilejson: tilejsonUrl, token, geo: geoUrl, center, zoom, color: COLOR };
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(String(error)));
  await page.goto(`http://127.0.0.1:${server.address().port}/map.html#${encodeURIComponent(JSON.stringify(given))}`);
  const rest = page.waitForFunction(() => window.done || window.failures?.length, null, { timeout: 60_000 });
  await rest.catch((error) => { throw new Error(`${name}: ${error.message}\n${said.join("\n")}`); });
  assert.deepEqual(await page.evaluate(() => window.failures), [], name);
  const shown = await page.evaluate(() => window.shown);
  const picture = await page.locator("#map").screenshot({ path: path.join(out, `${name}.png`) });
  const pixels = await page.evaluate(tinted, picture.toString("base64"));
  await page.close();
  return { pixels, shown };
}

/** In the page: which pixels of a picture are not white, row by row. */
async function tinted(picture) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${picture}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const rows = [];
  for (let y = 0; y < image.height; y += 1) {
    let row = "";
    for (let x = 0; x < image.width; x += 1) {
      const at = 4 * (y * image.width + x);
      row += data[at + 1] < 240 ? "#" : ".";
    }
    rows.push(row);
  }
  return rows;
}

/** How many pixels of a box are coloured. */
function count(rows, { left, top, right, bottom }) {
  const [first, last] = [Math.max(0, left), Math.min(SIDE, right)];
  const seen = rows.slice(Math.max(0, top), Math.max(0, Math.min(SIDE, bottom)));
  return seen.reduce((sum, row) => sum + row.slice(first, last).split("#").length - 1, 0);
}

function size({ left, top, right, bottom }) {
  return (right - left) * (bottom - top);
}

function shrunk({ left, top, right, bottom }, by) {
  return { left: left + by, top: top + by, right: right - by, bottom: bottom - by };
}

/** A box of the world in pixels of the screen. */
function onScreen({ west, south, east, north }, { center, zoom }) {
  const scale = SIDE * 2 ** zoom;
  const [cx, cy] = world(center);
  const at = (position) => {
    const [x, y] = world(position);
    return [Math.round((x - cx) * scale + SIDE / 2), Math.round((y - cy) * scale + SIDE / 2)];
  };
  const [[left, top], [right, bottom]] = [at([west, north]), at([east, south])];
  return { left, top, right, bottom };
}

function fieldSeen(pixels, view) {
  return count(pixels, shrunk(onScreen(FIELD, view), -2));
}

function field() {
  const ring = ({ west, south, east, north }) => [
    [west, south], [east, south], [east, north], [west, north], [west, south],
  ];
  const coordinates = [ring(FIELD), ring(CLEARING).reverse()];
  return { type: "Feature", id: "field", properties: {}, geometry: { type: "Polygon", coordinates } };
}

/** The page and the library; nothing else. */
async function serve(request, answer) {
  const name = path.basename(new URL(request.url, "http://x").pathname);
  const kinds = { ".html": "text/html", ".mjs": "text/javascript", ".css": "text/css" };
  const kind = kinds[path.extname(name)];
  const folder = name === "map.html" ? here : library;
  const file = kind && (await readFile(path.join(folder, name)).catch(() => null));
  answer.writeHead(file ? 200 : 404, { "Content-Type": kind ?? "text/plain" });
  answer.end(file ?? "");
}
