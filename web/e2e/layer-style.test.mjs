// Declared fields, styles and the lock of a layer: from the settings to the map.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, PHONE, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();
/** The middle of parcel 6, and a place without parcels. */
const PARCEL = "18/47.6535/2.0855";
const MEADOW = "18/47.6525/2.095";

test("fields with choices are declared, and shapes on the map must fit them", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await openSettings(page, "Fields");
  await fillField(page, "New field", { Name: "use", Choices: "meadow\nwood" });
  await page.getByLabel("Required").check();
  await page.getByRole("button", { name: "Add field" }).click();
  await fillField(page, "New field", { Name: "depth", Unit: "m", Default: "two" });
  await page.getByRole("group", { name: "New field" }).getByLabel("Type").selectOption("Number");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Must be a number, for example 1250.00").waitFor();
  await fillField(page, "depth", { Default: "2" });
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Fields of “parcels” saved.").waitFor();
  await page.getByText("12 shapes do not fit these fields yet.").waitFor();
  await assertAccessible(page, "fields of a layer");

  await drawPolygon(page);
  assert.equal(await page.getByLabel("depth (m)").inputValue(), "2");
  const save = page.locator(".map-save [type=submit]");
  await page.getByLabel("depth (m)").fill("deep");
  await save.click();
  await page.getByText("use is required.").waitFor();
  await page.getByText("depth", { exact: false }).and(page.locator(".error")).waitFor();
  await assertAccessible(page, "the form with errors of fields");
  await page.getByLabel("depth (m)").fill("2,5");
  await page.getByLabel("use").selectOption("wood");
  const response = page.waitForResponse("**/map/geometries");
  await save.click();
  const { layerId, id } = await (await response).json();
  await page.getByText("Shape saved.").waitFor();
  const { properties } = await page.evaluate(
    async (path) => (await fetch(path)).json(),
    `/map/features/${layerId}/${id}`,
  );
  assert.deepEqual(properties, { use: "wood", depth: 2.5 });

  // What only the server knows is shown at the field: another person removed a choice meanwhile.
  await drawPolygon(page);
  await page.getByLabel("use").selectOption("wood");
  const other = await fixture.openPageLoggedIn();
  await openSettings(other.page, "Fields");
  await fillField(other.page, "use", { Choices: "meadow" });
  await other.page.getByRole("button", { name: "Save", exact: true }).click();
  await other.page.getByText("Fields of “parcels” saved.").waitFor();
  await other.context.close();
  await save.click();
  await page.locator("#map-field-0-error", { hasText: "Must be one of meadow" }).waitFor();
  assert.deepEqual(
    errors.filter((error) => !error.includes("status of 400")),
    [],
  );
  page.on("dialog", (dialog) => dialog.accept());
  await context.close();
});

test("colors by attribute, labels and the legend are shown on the map", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await openMap(page, PARCEL);
  const before = await pixels(page);
  assert(before.blue > before.red, "the layer is blue");
  await openSettings(page, "Style");
  await page.getByLabel("Color by category").check();
  await page.getByLabel("Attribute").selectOption("section");
  await page.getByRole("button", { name: "Fill in values" }).click();
  assert.equal(await page.getByLabel("Value of category 1").inputValue(), "AB");
  await page.getByLabel("Color of category 1").fill("#ff0000");
  await page.getByRole("button", { name: "Save", exact: true }).last().click();
  await page.getByText("Style of “parcels” saved.").waitFor();
  await page.locator(".layer-legend li", { hasText: "AB" }).waitFor();
  await assertAccessible(page, "style of a layer");

  await openMap(page, PARCEL);
  const colored = await pixels(page);
  assert(colored.red > colored.blue + 10, `the parcels are red: ${JSON.stringify(colored)}`);
  assert.equal(colored.dark, 0);
  await page.locator(".map-legend li", { hasText: "Other values" }).waitFor();

  await openSettings(page, "Style");
  await page.getByLabel("Label", { exact: true }).selectOption("name");
  await page.getByLabel("Visible from zoom").fill("16");
  await page.getByRole("button", { name: "Save", exact: true }).last().click();
  await page.getByText("Style of “parcels” saved.").waitFor();
  await openMap(page, PARCEL);
  assert((await pixels(page)).dark > 20, "a label is drawn");
  await page.getByLabel("Options of parcels").click();
  await page.getByLabel("Opacity of parcels").fill("20");
  await assertAccessible(page, "the map with the menu of a layer");
  await openMap(page, "14/47.6535/2.0855");
  await page.getByText("Not visible at this zoom").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("a locked layer cannot be edited on the map", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ locale: "fr-FR" });
  await page.goto(`${fixture.url}/settings/layers`);
  await page.getByRole("link", { name: "parcels", exact: true }).click();
  await page.getByRole("button", { name: "Verrouiller" }).click();
  await page.getByText("Cette couche est verrouillée :").waitFor();
  await openMap(page, PARCEL);
  await page.locator("#map canvas").click();
  await page.locator(".map-card", { hasText: "Cette couche est verrouillée." }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Modifier", exact: true }).count(), 0);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the pages of a layer fit a phone", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ viewport: PHONE, colorScheme: "dark" });
  for (const tab of ["Fields", "Style"]) {
    await openSettings(page, tab);
    await assertFitsWidth(page, tab);
    await assertAccessible(page, `${tab} on a phone`);
  }
  assert.deepEqual(errors, []);
  await context.close();
});

async function openSettings(page, tab) {
  await page.goto(`${fixture.url}/settings/layers`);
  await page.getByRole("link", { name: "parcels", exact: true }).click();
  await page.getByRole("link", { name: tab, exact: true }).click();
  await page.locator("h1", { hasText: `${tab} of parcels` }).waitFor();
}

async function fillField(page, title, values) {
  const row = page.getByRole("group", { name: title });
  for (const [label, value] of Object.entries(values)) await row.getByLabel(label).fill(value);
}

/** Opens the map anew: another fragment alone would not load the page. */
async function openMap(page, position) {
  await page.goto("about:blank");
  await page.goto(`${fixture.url}/map#map=${position}&hidden=folders`);
  await waitForMap(page);
}

/** Draws a triangle in a meadow by typed coordinates, up to the form that saves it. */
async function drawPolygon(page) {
  await openMap(page, MEADOW);
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("button", { name: "Area" }).click();
  for (const text of ["47.6525, 2.0950", "47.6525, 2.0952", "47.6527, 2.0952"]) {
    await page.getByLabel("Latitude, longitude").fill(text);
    await page.getByLabel("Latitude, longitude").press("Enter");
  }
  await page.getByText("3 vertices").waitFor();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.locator(".map-save").waitFor();
}

/** The mean color around the middle of the map, and the number of dark pixels, which are of a label. */
async function pixels(page) {
  const { x, y, width, height } = await page.locator("#map canvas").boundingBox();
  const clip = { x: x + width / 2 - 150, y: y + height / 2 - 100, width: 300, height: 200 };
  // Icons appear gradually.
  await page.waitForTimeout(400);
  const png = (await page.screenshot({ clip })).toString("base64");
  return page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    const sum = { red: 0, blue: 0, dark: 0 };
    for (let at = 0; at < data.length; at += 4) {
      sum.red += (data[at] * 4) / data.length;
      sum.blue += (data[at + 2] * 4) / data.length;
      if (data[at] + data[at + 1] + data[at + 2] < 250) sum.dark += 1;
    }
    return sum;
  }, png);
}
