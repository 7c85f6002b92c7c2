// A person pans and zooms over four layers for a while, in a window of 1920 × 1080 pixels. Every tile must
// arrive: the requests of a map must not exceed its rate limit.
//
// PAN_SECONDS is how long it takes.

import assert from "node:assert/strict";
import { openBrowser } from "./browser.mjs";
import { geoUrl, postGeometries, token } from "./client.mjs";
import { featureCollection, parcels } from "./features.mjs";

const seconds = Number(process.env.PAN_SECONDS ?? 20);
const layers = ["pan-1", "pan-2", "pan-3", "pan-4"];
for (const layer of layers) await postGeometries(layer, featureCollection(parcels));
const { browser, pageUrl, close } = await openBrowser({ width: 1920, height: 1080 });
try {
  const page = await browser.newPage();
  const statuses = {};
  page.on("response", (response) => {
    if (response.url().startsWith(geoUrl)) statuses[response.status()] = (statuses[response.status()] ?? 0) + 1;
  });
  const options = {
    tilejsonUrls: layers.map((layer) => `${geoUrl}/maps/${layer}.json`),
    token, geoUrl, center: [1.8, 46], zoom: 6, color: "#c02942",
  };
  await page.goto(`${pageUrl}#${encodeURIComponent(JSON.stringify(options))}`);
  await page.waitForFunction(() => window.isDone || window.errors?.length, null, { timeout: 60_000 });
  await page.evaluate(panAndZoom, seconds);
  assert.deepEqual(await page.evaluate(() => window.errors), []);
  const { 200: tiles = 0, 204: preflights = 0, ...others } = statuses;
  assert.deepEqual(others, {}, "other statuses than 200");
  assert(tiles > seconds, `only ${tiles} tiles`);
  console.log(`maplibre-gl: ${tiles} tiles and ${preflights} preflights in ${seconds} s of panning, none rejected`);
} finally {
  await close();
}

/** Runs in the page. Moves the map once a second. */
async function panAndZoom(seconds) {
  const random = ((seed) => () => (seed = (seed * 48271) % 2147483647) / 2147483647)(7);
  for (let second = 0; second < seconds; second += 1) {
    const zoom = 5 + 11 * random();
    const center = [1.8 + (random() - 0.5) * 4, 46 + (random() - 0.5) * 4];
    if (second % 5 === 0) window.map.jumpTo({ center, zoom });
    else window.map.panBy([(random() - 0.5) * 1600, (random() - 0.5) * 900], { duration: 400 });
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
