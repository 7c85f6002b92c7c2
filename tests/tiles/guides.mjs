// The pages of the guides in the directory GUIDES show a layer in Chromium, as they are printed there: only the
// address and the token are replaced. The screenshots are saved in the directory OUT.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { openBrowser } from "./browser.mjs";
import { geoUrl, postGeometries, token } from "./client.mjs";

const SIZE = 512;
const { GUIDES: guides, OUT: out } = process.env;
const modules = path.join(path.dirname(new URL(import.meta.url).pathname), "node_modules");
const TYPES = { ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript" };

await postGeometries("parcels", { type: "FeatureCollection", features: lots() });
const { browser, pageUrl, close } = await openBrowser({ width: SIZE, height: SIZE }, serve);
try {
  for (const guide of ["maplibre", "leaflet", "openlayers"]) await showsTheLayer(guide);
  console.log("guides: the pages for MapLibre, Leaflet and OpenLayers show a layer");
} finally {
  await close();
}

/** Nine squares with streets between them. */
function lots() {
  return Array.from({ length: 9 }, (_, number) => {
    const [west, south] = [6 + (number % 3) * 0.01, 49 + Math.floor(number / 3) * 0.007];
    const [east, north] = [west + 0.008, south + 0.005];
    const ring = [[west, south], [east, south], [east, north], [west, north], [west, south]];
    return {
      type: "Feature", id: `lot-${number}`, properties: { number }, geometry: { type: "Polygon", coordinates: [ring] },
    };
  });
}

async function serve(request, response) {
  const { pathname } = new URL(request.url, "http://localhost");
  const content = pathname.startsWith("/node_modules/")
    ? await readFile(path.join(modules, pathname.slice("/node_modules/".length))).catch(() => null)
    : await readPage(path.basename(pathname, ".html"));
  const type = TYPES[path.extname(pathname)] ?? "text/html";
  response.writeHead(content ? 200 : 404, { "Content-Type": type });
  response.end(content ?? "");
}

async function readPage(guide) {
  const text = await readFile(path.join(guides, `${guide}.md`), "utf8").catch(() => "");
  const [, page] = text.match(/^```html\n(.*?)^```/ms) ?? [];
  return page?.replace("http://127.0.0.1:8081", geoUrl).replace("svc_…", token);
}

async function showsTheLayer(guide) {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(new URL(`/${guide}.html`, pageUrl).href);
  const deadline = performance.now() + 60_000;
  let picture = { center: false, streets: false };
  while (!picture.center && performance.now() < deadline) {
    const screenshot = await page.screenshot({ path: path.join(out, `guide-${guide}.png`) });
    picture = await page.evaluate(look, screenshot.toString("base64"));
  }
  assert.deepEqual(errors, [], guide);
  assert.deepEqual(picture, { center: true, streets: true }, guide);
  await page.close();
}

/** Runs in the page. Tells whether the center of the picture is green, and whether the streets are white. */
async function look(png) {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const pixel = (x, y) => [...context.getImageData(x, y, 1, 1).data];
  const isGreen = ([red, green, blue]) => green > red + 30 && green > blue + 20;
  const middle = Math.round(image.width / 2);
  const row = Array.from({ length: image.width }, (_, x) => pixel(x, middle));
  const changes = row.filter((color, x) => x > 0 && isGreen(color) !== isGreen(row[x - 1])).length;
  // From left to right: three lots, each with an edge on both sides unless it fills the picture to the margin.
  return { center: isGreen(pixel(middle, middle)), streets: changes >= 4 && changes <= 6 };
}
