// Base maps: adding them, choosing one on the map, and the names on the built-in one.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { assertAccessible, assertFitsWidth, PHONE, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();
const PLACE = "#map=15/47.6535/2.086";
const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPj/HwADBwIAMCbHYQAAAABJRU5ErkJggg==",
  "base64",
);

/** A map server on another origin. `requests` collects the paths and the referrers. */
async function startMapServer() {
  const requests = [];
  const files = new Map();
  const server = createServer((request, response) => {
    requests.push({ url: request.url, referrer: request.headers.referer });
    response.setHeader("Access-Control-Allow-Origin", "*");
    const file = files.get(request.url.split("?")[0]);
    if (file) return response.setHeader("Content-Type", "application/json").end(JSON.stringify(file));
    if (request.url.endsWith(".pbf")) return response.end();
    response.setHeader("Content-Type", "image/png").end(PIXEL);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { requests, files, server, url: `http://127.0.0.1:${server.address().port}` };
}

let maps;
let tiles;
before(async () => {
  maps = await startMapServer();
  tiles = await startMapServer();
});
after(() => {
  for (const { server } of [maps, tiles]) {
    server.closeAllConnections();
    server.close();
  }
});

async function addBaseMap(page, kind, fields) {
  await page.goto(`${fixture.url}/settings/base-maps/new?kind=${kind}`);
  for (const [name, value] of Object.entries(fields)) await page.locator(`[name=${name}]`).fill(value);
  await page.locator("main button[type=submit]").click();
  await page.getByRole("status").getByText("saved").waitFor();
}

async function openMap(page, path = `/map${PLACE}`) {
  // Another fragment alone would not load the page again.
  await page.goto("about:blank");
  await page.goto(fixture.url + path);
  await waitForMap(page);
}

/** Chooses a base map and waits until it is drawn. Returns the requests that this took. */
async function choose(page, name, server = maps) {
  const before = server.requests.length;
  await page.getByLabel("Base map").selectOption({ label: name });
  await until(() => server.requests.length > before, `no request for ${name}`);
  await waitForMap(page);
  return server.requests.slice(before);
}

async function until(condition, message) {
  const deadline = Date.now() + 15_000;
  while (!condition()) {
    assert.ok(Date.now() < deadline, message);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const layerOrder = (page) => page.evaluate(() => document.getElementById("map").map.getLayersOrder());

test("a base map loads only when it is chosen, and the browser remembers it", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await openMap(page);
  await page.getByRole("link", { name: "Add a base map" }).click();
  await page.getByRole("link", { name: "Add base map" }).first().click();
  await page.getByRole("link", { name: "OpenStreetMap" }).click();
  assert.equal(
    await page.locator("[name=url]").inputValue(),
    "https://tile.openstreetmap.org/{z}/{x}/{y}.png",
  );
  await page.locator("[name=url]").fill(`${maps.url}/xyz/{z}/{x}/{y}.png`);
  await page.locator("[name=attribution]").fill("© <b>Tile server</b>");
  await page.locator("main button[type=submit]").click();
  await page.getByRole("link", { name: "OpenStreetMap", exact: true }).waitFor();

  await openMap(page);
  assert.deepEqual(maps.requests, [], "before it is chosen");
  const [first] = await choose(page, "OpenStreetMap");
  assert.match(first.url, /^\/xyz\/1[56]\/\d+\/\d+\.png$/);
  assert.equal(first.referrer, `${fixture.url}/`, "the origin only");
  await page.getByText("© <b>Tile server</b>").waitFor();
  const order = await layerOrder(page);
  assert.ok(order.indexOf("base-map-tiles") > order.indexOf("names"), "above the built-in base map");
  const firstLayer = order.findIndex((id) => id.startsWith("layer-"));
  assert.ok(order.indexOf("base-map-tiles") < firstLayer, "below the layers of the workspace");
  await assertAccessible(page, "the map with a base map");

  maps.requests.length = 0;
  await openMap(page, "/folders/F-000001");
  await until(() => maps.requests.length > 0, "the folder's map uses the chosen base map");
  await page.getByLabel("Base map").selectOption({ label: "Built-in base map" });
  assert.ok(!(await layerOrder(page)).some((id) => id.startsWith("base-map-")));
  await page.waitForLoadState("networkidle");
  maps.requests.length = 0;
  await openMap(page);
  assert.equal(await page.getByLabel("Base map").inputValue(), "built-in");
  assert.deepEqual(maps.requests, [], "after switching back");
  assert.deepEqual(errors, []);
  await context.close();
});

test("WMTS and WMS are requested with their own parameters", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await addBaseMap(page, "wmts", {
    name: "Cadastre",
    url: `${maps.url}/wmts?LAYER=plan&M={TileMatrix}&R={TileRow}&C={TileCol}&k={key}`,
    key: "a key",
  });
  await addBaseMap(page, "wms", { name: "Aerial", url: `${maps.url}/wms?SERVICE=WMS`, layers: "ortho,2026" });
  await openMap(page);
  const [wmts] = await choose(page, "Cadastre");
  assert.match(wmts.url, /^\/wmts\?LAYER=plan&M=1[56]&R=\d+&C=\d+&k=a%20key$/);
  const [wms] = await choose(page, "Aerial");
  const query = new URL(wms.url, maps.url).searchParams;
  assert.deepEqual(query.getAll("SERVICE").concat(query.getAll("service")), ["WMS"]);
  assert.equal(query.get("request"), "GetMap");
  assert.equal(query.get("layers"), "ortho,2026");
  const box = query.get("bbox").split(",").map(Number);
  assert.ok(box.length === 4 && box[0] < box[2] && Math.abs(box[1] - 6.048e6) < 1e4, String(box));
  assert.deepEqual(errors, []);
  await context.close();
});

test("a MapLibre style loads only from the servers that are listed", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  maps.files.set("/style.json", {
    version: 8,
    sources: {
      background: { type: "raster", tiles: [`${maps.url}/style/{z}/{x}/{y}.png`], tileSize: 512 },
      roads: { type: "vector", tiles: [`${tiles.url}/{z}/{x}/{y}.pbf`] },
    },
    layers: [
      { id: "background", type: "raster", source: "background" },
      { id: "roads", type: "line", source: "roads", "source-layer": "roads" },
    ],
  });
  await addBaseMap(page, "style", { name: "Vector map", url: `${maps.url}/style.json` });
  await openMap(page);
  await choose(page, "Vector map");
  assert.deepEqual(tiles.requests, [], "the server of the vector tiles is not listed");
  // Chromium does not report what the policy blocks in a worker; if it did, nothing else may be wrong.
  assert.ok(
    errors.every((text) => text.includes("Content Security Policy")),
    errors[0],
  );
  errors.length = 0;

  await page.goto(`${fixture.url}/settings/base-maps`);
  await page.getByRole("link", { name: "Edit Vector map" }).click();
  await page.locator("[name=hosts]").fill(`${tiles.url}/v3/`);
  await page.locator("[name=isDefault]").check();
  await page.locator("main button[type=submit]").click();
  await page.getByRole("status").getByText("saved").waitFor();
  // Another browser, without a choice of its own, shows the default.
  const other = await fixture.openPageLoggedIn();
  await openMap(other.page);
  await until(() => tiles.requests.length > 0, "no vector tile");
  assert.equal(tiles.requests[0].referrer, `${fixture.url}/`);
  maps.files.delete("/style.json");
  await openMap(other.page);
  await other.page.getByText("The base map “Vector map” could not be loaded.").waitFor();
  assert.equal(await other.page.getByLabel("Base map").inputValue(), "built-in");
  assert.deepEqual([...errors, ...other.errors], []);
  await other.context.close();
  await context.close();
});

for (const [locale, names, colorScheme] of [
  ["en-GB", ["Germany", "Spain", "Mediterranean Sea"], "light"],
  ["fr-FR", ["Allemagne", "Espagne", "Mer Méditerranée"], "dark"],
]) {
  test(`the built-in base map names countries and seas in the language of the page, ${locale}`, async () => {
    const { context, page, errors } = await fixture.openPageLoggedIn({ locale, colorScheme });
    await page.evaluate(() => localStorage.setItem("groma.map.base", "built-in"));
    await openMap(page, "/map#map=4/44/10");
    await page.waitForFunction((names) => {
      const { map } = document.getElementById("map");
      const drawn = map.queryRenderedFeatures({ layers: ["names"] });
      return names.every((name) => drawn.some(({ properties }) => properties.name === name));
    }, names);
    assert.deepEqual(errors, []);
    await context.close();
  });
}

test("the settings pages are accessible and fit into a phone", async () => {
  for (const options of [{ locale: "fr-FR", viewport: PHONE }, { colorScheme: "dark" }]) {
    const { context, page } = await fixture.openPageLoggedIn(options);
    for (const path of ["", "/new", "/new?preset=ign-plan", "/new?kind=wms", "/new?kind=style"]) {
      await page.goto(`${fixture.url}/settings/base-maps${path}`);
      await assertAccessible(page, path);
      await assertFitsWidth(page, path);
    }
    await context.close();
  }
});
