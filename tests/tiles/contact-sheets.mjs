// Draws layers at every zoom, from tiles and exactly, side by side. Saves a contact sheet of each layer in the
// directory OUT.

import path from "node:path";
import { openBrowser } from "./browser.mjs";
import { geoUrl, postGeometries, token } from "./client.mjs";
import { featureCollection } from "./features.mjs";

/** Metres in degrees of longitude and latitude. */
const METRE = [1 / 73_000, 1 / 111_000];
const CORNER = [2.31, 48.81];
const ZOOMS = Array.from({ length: 14 }, (_, index) => index + 5);
const random = ((seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647)(11);

const at = (x, y) => [CORNER[0] + x * METRE[0], CORNER[1] + y * METRE[1]];
const feature = (id, type, coordinates) => ({ type: "Feature", id, properties: {}, geometry: { type, coordinates } });

/** 90,000 adjoining lots of 20 m. */
function lots() {
  const side = 300;
  return Array.from({ length: side * side }, (_, n) => {
    const [x, y] = [(n % side) * 20, Math.floor(n / side) * 20];
    return feature(n, "Polygon", [[at(x, y), at(x + 20, y), at(x + 20, y + 20), at(x, y + 20), at(x, y)]]);
  });
}

/** Streets between crossings that are 80 m apart, some of them missing, and a few long roads. */
function roads() {
  const side = 120;
  const crossing = (column, row) => at(column * 80 + random() * 20, row * 80 + random() * 20);
  const crossings = Array.from({ length: side * side }, (_, n) => crossing(n % side, Math.floor(n / side)));
  const features = [];
  for (let n = 0; n < side * side; n += 1) {
    const neighbours = [n % side < side - 1 ? n + 1 : null, n + side < side * side ? n + side : null];
    for (const other of neighbours) {
      if (other !== null && random() < 0.85) features.push(feature(features.length, "LineString", [crossings[n], crossings[other]]));
    }
  }
  for (let n = 0; n < 8; n += 1) {
    const line = Array.from({ length: 40 }, (_, step) => at(step * 400 - 5_000 + random() * 100, n * 1_500 - 3_000 + step * 20 * (n % 3)));
    features.push(feature(features.length, "LineString", line));
  }
  return features;
}

/** 40,000 points: a dense centre and a thin suburb. */
function points() {
  return Array.from({ length: 40_000 }, (_, n) => {
    const [angle, distance] = [random() * 2 * Math.PI, 6_000 * random() ** 2];
    return feature(n, "Point", at(3_000 + distance * Math.cos(angle), 3_000 + distance * Math.sin(angle)));
  });
}

await postGeometries("lots", featureCollection(lots()));
await postGeometries("roads", featureCollection(roads()));
await postGeometries("points", featureCollection(points()));
const middle = at(3_000, 3_000);
const sheets = [
  { layer: "parcels", title: "Parcels of the demo", center: [5.9522, 47.1534] },
  { layer: "lots", title: "90,000 adjoining lots of 20 m", center: middle },
  { layer: "roads", title: "Roads and streets", center: at(2_400, 2_400) },
  { layer: "points", title: "40,000 points", center: middle },
];
const { browser, pageUrl, close } = await openBrowser({ width: 1000, height: 800 });
try {
  for (const sheet of sheets) {
    const page = await browser.newPage();
    const options = { ...sheet, token, geoUrl, zooms: ZOOMS };
    const url = pageUrl.replace("maplibre.html", "contact-sheet.html");
    await page.goto(`${url}#${encodeURIComponent(JSON.stringify(options))}`);
    await page.waitForFunction(() => window.isDone || window.errors?.length, null, { timeout: 600_000 });
    const errors = await page.evaluate(() => window.errors);
    if (errors.length) throw new Error(`${sheet.layer}: ${errors}`);
    await page.locator("#sheet").screenshot({ path: path.join(process.env.OUT, `tiles-${sheet.layer}.png`) });
    console.log(`tiles-${sheet.layer}.png`);
    await page.close();
  }
} finally {
  await close();
}
