// Drawing, measuring, splitting and joining shapes on the map page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, PHONE, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();
/** The corner that parcels 1, 2, 5 and 6 share. */
const CORNER = [2.085, 47.653];
/** A place without parcels. */
const MEADOW = [2.095, 47.6525];

test("vertices snap to exact corners and edges of parcels", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Area");
  await clickNear(page, CORNER, "vertex");
  await clickNear(page, [2.0846, 47.653], "edge");
  await clickNear(page, [2.0845, 47.6535], "");
  await page.getByRole("button", { name: "Finish" }).click();
  const { geometry } = await save(page);
  // The server may turn the ring around.
  const [ring] = geometry.coordinates;
  const onEdge = ring.filter(([x, y]) => y === CORNER[1] && x !== CORNER[0]);
  assert(ring.some(([x, y]) => x === CORNER[0] && y === CORNER[1]));
  assert.equal(onEdge.length, 1);
  assert(ring.some(([, y]) => Math.abs(y - 47.6535) < 0.0001));
  assert.deepEqual(errors, []);
  await context.close();
});

test("a click on the first corner closes a polygon, and a double click ends a line", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Area");
  await clickNear(page, [2.0842, 47.6522], "");
  await clickNear(page, [2.0848, 47.6522], "");
  await clickNear(page, [2.0848, 47.6528], "");
  await clickNear(page, [2.0842, 47.6522], "vertex", 0);
  const polygon = await save(page);
  assert.equal(polygon.geometry.coordinates[0].length, 4);

  await reopenMap(page, MEADOW);
  await startDrawing(page, "Line");
  await clickNear(page, [2.0951, 47.6522], "");
  const end = await pixelOf(page, [2.0953, 47.6522]);
  await page.mouse.dblclick(end.x, end.y);
  const line = await save(page);
  assert.equal(line.geometry.coordinates.length, 2);
  assert.deepEqual(errors, []);
  await context.close();
});

test("typed coordinates, lengths and bearings add vertices", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Line");
  const coordinate = page.getByLabel("Latitude, longitude");
  const [length, bearing] = [page.getByLabel("Length (m)"), page.getByLabel("Bearing (° or gon)")];
  await length.fill("10");
  await length.press("Enter");
  await page.getByText("Add a first point before you enter a length.").waitFor();
  await coordinate.fill(`47°39'9" N 2°5'4.2" E`);
  await coordinate.press("Enter");
  await length.fill("100,5");
  await bearing.fill("90");
  await bearing.press("Enter");
  await page.locator(".map-size", { hasText: "100.5 m" }).waitFor();
  await coordinate.fill("somewhere");
  await coordinate.press("Enter");
  await page.getByText("Enter latitude and longitude, for example").waitFor();
  await coordinate.fill("47,6525; 2,0845");
  await page.locator(".map-typed form").nth(1).getByRole("button", { name: "Add" }).click();
  await page.getByText("3 vertices").waitFor();
  await page.getByRole("button", { name: "Finish" }).click();
  const { geometry } = await save(page);
  assert.deepEqual(geometry.coordinates[0], [2.0845, 47.6525]);
  assert(Math.abs(geometry.coordinates[1][1] - 47.6525) < 1e-7);
  assert(geometry.coordinates[1][0] > 2.0858);
  assert.deepEqual(geometry.coordinates[2], [2.0845, 47.6525]);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the vertex table edits and removes vertices, with undo and redo", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Line");
  for (const text of ["47.6521, 2.0841", "47.6522, 2.0842", "47.6523, 2.0843"])
    await typeCoordinate(page, text);
  await page.getByText("3 vertices").click();
  const latitude = page.getByLabel("Latitude of vertex 2");
  await latitude.fill("47,6529");
  await latitude.press("Enter");
  assert.equal(await latitude.inputValue(), "47.6529");
  const undo = page.getByRole("button", { name: "Undo" });
  await undo.click();
  assert.equal(await latitude.inputValue(), "47.6522");
  await page.locator("#map canvas").focus();
  await page.keyboard.press("Control+Shift+z");
  assert.equal(await latitude.inputValue(), "47.6529");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+y");
  assert.equal(await latitude.inputValue(), "47.6529");
  await page.getByRole("button", { name: "Remove vertex 1" }).click();
  await page.getByText("2 vertices").waitFor();
  await page.locator(".map-vertices tr[data-path]").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Delete");
  await page.getByText("1 vertex").waitFor();
  assert.equal(await page.getByRole("button", { name: "Finish" }).isDisabled(), true);
  await undo.click();
  await page.getByText("2 vertices").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("an existing polygon with a hole is edited by dragging and keeps its hole", async () => {
  const { context, page, errors } = await openMap();
  const ring = (x, y, size) => [
    [x, y],
    [x + size, y],
    [x + size, y + size],
    [x, y + size],
    [x, y],
  ];
  const coordinates = [ring(2.0821, 47.6521, 0.0008), ring(2.0823, 47.6523, 0.0004)];
  const created = await postShape(page, { type: "Polygon", coordinates }, { name: "With a hole" });
  await reopenMap(page, [2.0825, 47.6525], 18);
  await selectAt(page, [2.08215, 47.6522], "With a hole");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.getByText("8 vertices").waitFor();
  const [from, to] = [await pixelOf(page, [2.0823, 47.6523]), await pixelOf(page, [2.08225, 47.65225])];
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(from.x - 10, from.y + 10);
  await page.mouse.move(to.x, to.y);
  await page.mouse.up();
  // The middle of the southern edge becomes a vertex.
  const middle = await pixelOf(page, [2.0825, 47.6521]);
  await page.mouse.move(middle.x, middle.y);
  await page.mouse.down();
  await page.mouse.move(middle.x, middle.y + 20, { steps: 4 });
  await page.mouse.up();
  await page.getByText("9 vertices").waitFor();
  await page.getByRole("button", { name: "Done" }).click();
  const saved = await save(page);
  assert.equal(saved.id, created.id);
  assert.deepEqual(
    saved.geometry.coordinates.map((one) => one.length),
    [6, 5],
  );
  const [hole] = saved.geometry.coordinates[1];
  assert(Math.abs(hole[0] - 2.08225) < 5e-6 && Math.abs(hole[1] - 47.65225) < 5e-6, String(hole));
  assert.deepEqual(errors, []);
  await context.close();
});

test("fingers add and drag vertices on a phone", async () => {
  const { context, page, errors } = await openMap(MEADOW, { viewport: PHONE, hasTouch: true });
  await startDrawing(page, "Area");
  for (const position of [
    [2.0948, 47.653],
    [2.0952, 47.653],
    [2.0952, 47.6534],
  ]) {
    const { x, y } = await pixelOf(page, position);
    await page.touchscreen.tap(x, y);
  }
  await page.getByText("3 vertices").click();
  const latitude = page.getByLabel("Latitude of vertex 3");
  const before = Number(await latitude.inputValue());
  const { x, y } = await pixelOf(page, [2.0952, 47.6534]);
  const client = await context.newCDPSession(page);
  const touch = (type, touchPoints) => client.send("Input.dispatchTouchEvent", { type, touchPoints });
  const start = page.url();
  await touch("touchStart", [{ x: x + 6, y: y + 6 }]);
  for (let step = 1; step <= 5; step += 1) await touch("touchMove", [{ x: x + 6, y: y + 6 - 10 * step }]);
  await touch("touchEnd", []);
  await page.waitForFunction(
    (value) => Number(document.querySelectorAll(".map-vertices [data-cell=latitude]")[2].value) > value,
    before + 0.0001,
  );
  await page.getByText("3 vertices").waitFor();
  assert.equal(page.url(), start, "the map does not move with the vertex");
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(Number(await latitude.inputValue()), before);
  assert.deepEqual(errors, []);
  await context.close();
});

test("a measurement shows the area and perimeter and saves nothing", async () => {
  const { context, page, errors } = await openMap([2.0855, 47.6535]);
  const posts = [];
  page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
  await page.getByRole("button", { name: "Measure" }).click();
  await page.getByRole("button", { name: "Area" }).click();
  for (const position of [CORNER, [2.086, 47.653], [2.086, 47.654], [2.085, 47.654]])
    await clickNear(page, position, "vertex");
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByText("Nothing is saved.").waitFor();
  assert.equal(await page.locator(".map-size").textContent(), "8,353 m², perimeter 372.6 m");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Draw" }).waitFor();
  assert.deepEqual([...posts, ...errors], []);
  await context.close();
});

test("without permission to edit, the map offers to measure but not to draw", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.route("**/map", async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/(canEdit&[#\w]+;:)true/, "$1false");
    await route.fulfill({ response, body });
  });
  await reopenMap(page, [2.0865, 47.6535]);
  await page.getByRole("button", { name: "Measure" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Draw" }).count(), 0);
  await selectAt(page, [2.0875, 47.6535], "Parcel 8");
  assert.equal(await page.getByRole("button", { name: "Edit" }).count(), 0);
  assert.deepEqual(errors, []);
  await context.close();
});

test("a parcel is split by a line, and the parts are joined again", async () => {
  const { context, page, errors } = await openMap([2.0865, 47.6545]);
  await selectAt(page, [2.0865, 47.6545], "Parcel 11");
  const original = await selectedFeature(page);
  await page.getByRole("button", { name: "Split" }).click();
  await typeCoordinate(page, "47.6545, 2.0858");
  await page.getByRole("button", { name: "Finish" }).isDisabled();
  await typeCoordinate(page, "47.6545, 2.0862");
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByText("The line must cross the shape").waitFor();
  await typeCoordinate(page, "47.6548, 2.0875");
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByText("The shape is split into 2 parts.").waitFor();
  const before = await folderShapes(page);
  await page.getByRole("region", { name: "Split" }).getByRole("button", { name: "Split" }).click();
  await page.getByText("Shape split into 2 parts.").waitFor();
  const added = (await folderShapes(page)).filter((id) => !before.includes(id));
  assert.equal(added.length, 1);
  const part = await loadFeature(page, original.layerId, added[0]);
  assert.deepEqual(part.properties, original.properties);
  assert.equal(part.layerId, original.layerId);
  assert.equal(part.folder.reference, "F-000001");

  await waitForMap(page);
  await selectAt(page, [2.0865, 47.6542], "Parcel 11");
  await page.getByRole("button", { name: "Join with…" }).click();
  await clickUntil(page, [2.0865, 47.6549], page.getByRole("region", { name: "Join shapes" }));
  await page.getByRole("button", { name: "Join", exact: true }).click();
  await page.getByText("Shapes joined.").waitFor();
  const joined = await loadFeature(page, original.layerId, original.id);
  assert.equal(joined.geometry.type, "Polygon");
  const status = await page.evaluate(
    async ([layer, id]) => (await fetch(`/map/features/${layer}/${id}`)).status,
    [part.layerId, part.id],
  );
  assert.equal(status, 404);
  assert.deepEqual(
    errors.filter((error) => !error.includes("404")),
    [],
  );
  await context.close();
});

test("parcels without a common edge are not joined", async () => {
  const { context, page, errors } = await openMap([2.086, 47.6535]);
  await selectAt(page, [2.0875, 47.6535], "Parcel 8");
  await page.getByRole("button", { name: "Join with…" }).click();
  const other = await pixelOf(page, [2.0855, 47.6535]);
  await page.mouse.click(other.x, other.y);
  await page.getByText("The shapes have no common edge or end.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Draw" }).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("a polygon that crosses itself is reported and can be repaired", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Area");
  for (const text of ["47.6522, 2.0842", "47.6528, 2.0848", "47.6522, 2.0848", "47.6528, 2.0842"])
    await typeCoordinate(page, text);
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByText("The shape crosses itself at the marked place.").waitFor();
  await page.getByRole("button", { name: "Save anyway" }).waitFor();
  await assertAccessible(page, "the form for a polygon that crosses itself");
  await page.getByRole("button", { name: "Repair" }).click();
  await page.getByText("The shape crosses itself").waitFor({ state: "hidden" });
  const { geometry } = await save(page);
  assert.equal(geometry.type, "MultiPolygon");
  assert.equal(geometry.coordinates.length, 2);
  assert.deepEqual(errors, []);
  await context.close();
});

test("attributes are typed, for new and existing features", async () => {
  const { context, page, errors } = await openMap([2.0875, 47.6545]);
  await startDrawing(page, "Point");
  await typeCoordinate(page, "47.6545, 2.0875");
  await page.getByRole("region", { name: "New shape" }).waitFor();
  await addAttribute(page, "depth", "Number", "1,75");
  await addAttribute(page, "checked", "Yes or no", "true");
  await addAttribute(page, "depth", "Text", "twice");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("There is already an attribute “depth”.").waitFor();
  await page.getByRole("button", { name: "Remove attribute" }).last().click();
  await page.locator("#map-name").fill("Borehole 7");
  const point = await save(page);
  assert.deepEqual(point.properties, { name: "Borehole 7", depth: 1.75, checked: true });

  await page.reload();
  await waitForMap(page);
  // The point is above the parcel that it lies in.
  await selectAt(page, [2.0875, 47.6545], "Borehole 7");
  await page.getByRole("button", { name: "Edit attributes" }).click();
  const card = page.getByRole("region", { name: "Edit attributes" });
  await card.getByLabel("Attribute value").first().fill("2");
  await card.getByRole("button", { name: "Save" }).click();
  await page.getByText("Attributes saved.").waitFor();
  const changed = await loadFeature(page, point.layerId, point.id);
  assert.deepEqual(changed.properties, { name: "Borehole 7", depth: 2, checked: true });
  assert.deepEqual(changed.geometry, point.geometry);
  assert.deepEqual(errors, []);
  await context.close();
});

test("closing the form returns to the drawing, and leaving the page asks first", async () => {
  const { context, page, errors } = await openMap(MEADOW);
  const dialogs = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.dismiss();
  });
  await startDrawing(page, "Line");
  await clickNear(page, [2.0951, 47.6526], "");
  await clickNear(page, [2.0953, 47.6526], "");
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("region", { name: "New shape" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Finish" }).waitFor();
  await page.getByText("2 vertices").waitFor();
  await page.getByRole("link", { name: "Folders" }).first().click({ noWaitAfter: true });
  while (dialogs.length === 0) await page.waitForTimeout(20);
  assert.deepEqual(dialogs, ["beforeunload"]);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Folders" }).first().click();
  await page.waitForURL("**/folders");
  assert.deepEqual(errors, []);
  await context.close();
});

test("the search field goes to a coordinate and to a folder", async () => {
  const { context, page, errors } = await openMap();
  const goTo = page.getByRole("combobox", { name: "Go to" });
  await goTo.fill(`48°51'24" N 2°21'3" E`);
  await goTo.press("Enter");
  await page.waitForURL(/#map=17\/48\.8566\d*\/2\.3508/);
  await goTo.fill("f-000001");
  await page.getByRole("option", { name: /Chêne/ }).click();
  await page.waitForURL(/#map=[\d.]+\/47\.65\d*\/2\.08\d*/);
  await goTo.fill("f-000002");
  await goTo.press("Enter");
  await page.getByText("Folder F-000002 has no shapes on the map.").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("the drawing tools are accessible and fit a phone", async () => {
  const { context, page, errors } = await openMap();
  await startDrawing(page, "Area");
  for (const text of ["47.6522, 2.0842", "47.6528, 2.0848", "47.6522, 2.0848"])
    await typeCoordinate(page, text);
  await page.getByText("3 vertices").click();
  await assertAccessible(page, "drawing");
  await page.emulateMedia({ colorScheme: "dark" });
  await assertAccessible(page, "drawing, dark", ["color-contrast"]);
  await page.setViewportSize(PHONE);
  await assertFitsWidth(page, "drawing, phone");
  await assertAccessible(page, "drawing, phone", [
    "color-contrast",
    "target-size",
    "scrollable-region-focusable",
  ]);
  await page.getByRole("button", { name: "Finish" }).click();
  await page.getByRole("button", { name: "Add attribute" }).click();
  await assertAccessible(page, "the form, phone");
  await assertFitsWidth(page, "the form, phone");
  assert.deepEqual(errors, []);
  await context.close();
});

async function openMap(position = [2.0845, 47.6525], options = {}) {
  const opened = await fixture.openPageLoggedIn(options);
  await reopenMap(opened.page, position);
  // The panel is closed on a phone.
  if (options.viewport) return opened;
  // Folder points would lie above the parcels.
  await opened.page.getByRole("checkbox", { name: "Folders" }).uncheck();
  await waitForMap(opened.page);
  return opened;
}

/** Loads the map again at another place. */
async function reopenMap(page, [longitude, latitude], zoom = 17) {
  // A new fragment alone would not load the page.
  await page.goto("about:blank");
  await page.goto(`${fixture.url}/map#map=${zoom}/${latitude}/${longitude}`);
  await waitForMap(page);
}

async function startDrawing(page, shape) {
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("button", { name: shape, exact: true }).click();
}

async function typeCoordinate(page, text) {
  await page.getByLabel("Latitude, longitude").fill(text);
  await page.getByLabel("Latitude, longitude").press("Enter");
}

/** Where a position is in the window, by the position of the map in the URL. */
async function pixelOf(page, [longitude, latitude]) {
  const box = await page.locator("#map canvas").boundingBox();
  const [zoom, lat, lng] = /map=([\d.]+)\/(-?[\d.]+)\/(-?[\d.]+)/.exec(page.url()).slice(1).map(Number);
  const size = 512 * 2 ** zoom;
  const mercator = (degrees) => Math.log(Math.tan(Math.PI / 4 + (degrees * Math.PI) / 360)) / (2 * Math.PI);
  return {
    x: box.x + box.width / 2 + ((longitude - lng) / 360) * size,
    y: box.y + box.height / 2 - (mercator(latitude) - mercator(lat)) * size,
  };
}

/** Clicks a few pixels beside a position, after the pointer snapped to a vertex, an edge, or nothing. */
async function clickNear(page, position, snap, offset = 4) {
  const { x, y } = await pixelOf(page, position);
  await page.mouse.move(x + offset, y + offset);
  await page.locator(`#map[data-snap="${snap}"]`).waitFor();
  await page.mouse.click(x + offset, y + offset);
}

async function selectAt(page, position, title) {
  await clickUntil(page, position, page.locator(".map-card h2", { hasText: title }));
}

/** Clicks until an element appears: right after a change, the map may still show the old tiles. */
async function clickUntil(page, position, locator) {
  const { x, y } = await pixelOf(page, position);
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await page.mouse.click(x, y);
    if (
      await locator.waitFor({ timeout: 1000 }).then(
        () => true,
        () => false,
      )
    )
      return;
  }
  assert.fail("the click had no effect");
}

async function addAttribute(page, name, type, value) {
  await page.getByRole("button", { name: "Add attribute" }).click();
  const row = page.locator(".map-attribute").last();
  await row.getByLabel("Attribute name").fill(name);
  await row.getByLabel("Attribute type").selectOption(type);
  const input = row.getByLabel("Attribute value");
  if (type === "Yes or no") await input.selectOption(value);
  else await input.fill(value);
}

/** Saves the shape in the form and returns the saved feature. */
async function save(page) {
  const saved = await collectSaved(page, 1);
  await page.locator(".map-save [type=submit]").click();
  const [{ layerId, id }] = await saved();
  await page.getByText("Shape saved.").first().waitFor();
  return loadFeature(page, layerId, id);
}

/** The responses to the next requests that save a shape. */
async function collectSaved(page, count) {
  const found = [];
  let resolve;
  const promise = new Promise((callback) => (resolve = callback));
  // The page can reload after saving, and its responses would be gone.
  await page.route("**/map/geometries", async (route) => {
    const response = await route.fetch();
    found.push(await response.json());
    await route.fulfill({ response });
    if (found.length === count) resolve(found);
  });
  return async () => {
    const all = await promise;
    await page.unroute("**/map/geometries");
    return all;
  };
}

/** The ids of the shapes of the first folder. */
function folderShapes(page) {
  return page.evaluate(async () => {
    const response = await fetch("/folders/F-000001/geometries.geojson");
    return (await response.json()).features.map(({ id }) => id);
  });
}

function loadFeature(page, layerId, id) {
  return page.evaluate(async (path) => (await fetch(path)).json(), `/map/features/${layerId}/${id}`);
}

/** The feature that the URL names. */
async function selectedFeature(page) {
  const config = JSON.parse(await page.locator("#map").getAttribute("data-config"));
  const [, slug, id] = /feature=([^/&]+)\/(\d+)/.exec(page.url());
  const { id: layerId } = config.layers.find((layer) => layer.slug === slug);
  return loadFeature(page, layerId, id);
}

/** Saves a shape without the form. */
async function postShape(page, geometry, properties) {
  return page.evaluate(
    async (body) => {
      const token = document.querySelector("meta[name=csrf]")?.content;
      const headers = { "Content-Type": "application/json", "X-CSRF-Token": token };
      const response = await fetch("/map/geometries", { method: "POST", headers, body });
      return response.json();
    },
    JSON.stringify({ feature: { type: "Feature", properties, geometry } }),
  );
}
