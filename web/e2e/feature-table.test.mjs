// The table of a layer's features beside the map, and going to a feature by an attribute.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, PHONE, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();
/** The center of all twelve parcels. */
const PLACE = "17/47.6535/2.086";

async function openMap(fragment = "", options) {
  const opened = await fixture.openPageLoggedIn(options);
  await opened.page.goto(`${fixture.url}/map#map=${PLACE}${fragment}`);
  await waitForMap(opened.page);
  return opened;
}

const rows = (page) => page.locator(".map-table tr[data-feature]");
const names = (page) => rows(page).locator("td:nth-child(2)").allTextContents();
const selectedRow = (page) => page.locator(".map-table tr[aria-selected=true]");

/** Waits until the names in the table are these. */
async function waitForNames(page, expected) {
  const areShown = (wanted) => {
    const all = [...document.querySelectorAll(".map-table tr[data-feature]")];
    return JSON.stringify(all.map((row) => row.cells[1].textContent.trim())) === JSON.stringify(wanted);
  };
  await page
    .waitForFunction(areShown, expected, { timeout: 5_000 })
    .catch(async () => assert.deepEqual(await names(page), expected));
}

test("the table sorts and filters, and a link shows the same rows", async () => {
  const { context, page, errors } = await openMap();
  await page.keyboard.press("t");
  await rows(page).first().waitFor();
  assert.equal(await rows(page).count(), 12);
  await page.getByText("1–12 of 12").waitFor();
  assert.equal(await page.getByRole("searchbox", { name: "Filter" }).evaluate(isFocused), true);

  const heading = page.getByRole("columnheader", { name: "name" });
  await heading.getByRole("button").click();
  await page.locator(".map-table th[aria-sort=ascending]").waitFor();
  assert.deepEqual((await names(page)).slice(0, 3), ["Parcel 1", "Parcel 10", "Parcel 11"]);
  await page.keyboard.press("Enter");
  await page.locator(".map-table th[aria-sort=descending]").waitFor();
  assert.equal((await names(page))[0], "Parcel 9");

  await page.getByRole("searchbox", { name: "Filter" }).fill("PARCEL 1");
  await waitForNames(page, ["Parcel 12", "Parcel 11", "Parcel 10", "Parcel 1"]);
  await page.getByLabel("Column").selectOption("name");
  await page.getByLabel("Comparison").selectOption("equal");
  await waitForNames(page, ["Parcel 1"]);

  const colleague = await context.newPage();
  await colleague.goto(page.url());
  await waitForNames(colleague, ["Parcel 1"]);
  assert.equal(await colleague.getByRole("searchbox", { name: "Filter" }).inputValue(), "PARCEL 1");
  await colleague.getByRole("searchbox", { name: "Filter" }).fill("100% & ~ü,:");
  await colleague.getByText("No shapes match.").waitFor();
  await colleague.getByRole("button", { name: "Zoom in" }).click();
  await colleague.waitForURL(/#map=18/);
  await colleague.reload();
  await colleague.getByText("No shapes match.").waitFor();
  assert.equal(await colleague.getByRole("searchbox", { name: "Filter" }).inputValue(), "100% & ~ü,:");
  await colleague.getByRole("button", { name: "Close table" }).click();
  assert.doesNotMatch(colleague.url(), /table=/);
  assert.equal(await colleague.locator(".map-table").isVisible(), false);
  assert.deepEqual(errors, []);
  await context.close();
});

test("rows and features are selected together, and a row zooms to its feature", async () => {
  const { context, page, errors } = await openMap("&table=parcels");
  await rows(page).nth(4).click();
  await page.locator(".map-card h2", { hasText: "Parcel 5" }).waitFor();
  assert.match(await selectedRow(page).textContent(), /Parcel 5/);
  await page.waitForURL(/feature=parcels\/\d+/);
  await rows(page).nth(4).getByRole("button", { name: "Zoom to Parcel 5" }).click();
  await page.waitForURL(/#map=1[67][\d.]*\/47\.653\d*\/2\.084\d*/);

  // The feature in the middle of the map, selected with the keyboard.
  await rows(page).nth(8).dblclick();
  await page.locator(".map-card h2", { hasText: "Parcel 9" }).waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).click();
  assert.equal(await selectedRow(page).count(), 0);
  await waitForMap(page);
  await page.locator("#map canvas").focus();
  await page.keyboard.press("Enter");
  await page.locator(".map-table tr[aria-selected=true]", { hasText: "Parcel 9" }).waitFor();

  // A feature that the filter hides is shown above the rows.
  await page.getByRole("searchbox", { name: "Filter" }).fill("Parcel 3");
  await page.locator(".map-table .pinned", { hasText: "Parcel 9" }).waitFor();
  await waitForNames(page, ["Parcel 9", "Parcel 3"]);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await waitForNames(page, ["Parcel 3"]);
  assert.deepEqual(errors, []);
  await context.close();
});

test("only features on the map are listed, and the table follows the map", async () => {
  const { context, page, errors } = await openMap("&table=parcels");
  await rows(page).nth(11).waitFor();
  await rows(page).first().focus();
  for (const key of ["ArrowDown", "ArrowDown", "ArrowUp", "End", "Home", "j"]) await page.keyboard.press(key);
  await page.keyboard.press("Space");
  await page.locator(".map-card h2", { hasText: "Parcel 2" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/#map=17\/47\.652\d*\/2\.085\d*/);
  const isFocused = await rows(page)
    .nth(1)
    .evaluate((row) => row === document.activeElement);
  assert.equal(isFocused, true);
  await page.goto("about:blank");
  await page.goto(`${fixture.url}/map#map=21/47.6525/2.0845&table=parcels`);
  await waitForMap(page);
  await page.getByLabel("Only on the map").check();
  await waitForNames(page, ["Parcel 1"]);
  await page.locator("#map canvas").focus();
  for (const zoom of [20, 19, 18]) {
    await page.keyboard.press("-");
    await page.waitForURL(new RegExp(`#map=${zoom}/`));
  }
  await page.waitForFunction(() => document.querySelectorAll(".map-table tr[data-feature]").length > 1);
  assert.match(page.url(), /view(:|%3A)map/);
  await rows(page).first().focus();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".map-table").isVisible(), false);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the table stays while drawing and shows saved and deleted shapes", async () => {
  const { context, page, errors } = await openMap("&table=parcels");
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("button", { name: "Area" }).click();
  for (const text of ["47.6562, 2.0842", "47.6568, 2.0848", "47.6562, 2.0848"]) {
    await page.getByLabel("Latitude, longitude").fill(text);
    await page.getByLabel("Latitude, longitude").press("Enter");
  }
  await page.getByText("3 vertices").waitFor();
  // A row does not disturb the sketch.
  await rows(page).first().click();
  await rows(page).first().press("Enter");
  assert.equal(await page.locator(".map-card").isVisible(), false);
  await page.getByText("3 vertices").waitFor();
  await page.getByRole("button", { name: "Finish" }).click();
  await page.locator("#map-name").fill("Zwickel");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await rows(page).nth(12).waitFor();
  assert.equal((await names(page))[12], "Zwickel");

  // Go to finds a shape by an attribute.
  const goTo = page.getByRole("combobox", { name: "Go to" });
  await goTo.fill("zwick");
  await page.getByRole("option", { name: /Zwickel/ }).click();
  await page.locator(".map-card h2", { hasText: "Zwickel" }).waitFor();
  await page.waitForURL(/#map=[\d.]+\/47\.656\d*\/2\.084\d*/);
  await page.locator(".map-card").getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete shape" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".map-table tr[data-feature]").length === 12);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the table is accessible, covers a phone, and speaks French", async () => {
  const { context, page, errors } = await openMap("&table=parcels", { locale: "fr-FR" });
  await rows(page).nth(4).click();
  await page.locator(".map-card h2", { hasText: "Parcel 5" }).waitFor();
  await page.getByText("1–12 sur 12").waitFor();
  assert.equal(await page.getByRole("columnheader", { name: "ID externe" }).count(), 1);
  await assertAccessible(page, "table");
  await page.emulateMedia({ colorScheme: "dark" });
  await assertAccessible(page, "table, dark", ["color-contrast"]);
  await page.setViewportSize({ width: 768, height: 1024 });
  await assertFitsWidth(page, "table, tablet");
  await page.setViewportSize(PHONE);
  await assertFitsWidth(page, "table, phone");
  await assertAccessible(page, "table, phone", ["color-contrast", "target-size", "label"]);
  const { x, y, width, height } = await page.locator(".map-table").boundingBox();
  assert.deepEqual([x, y, width, height], [0, 0, PHONE.width, PHONE.height]);
  // The map is visible after zooming to a row.
  await page.getByRole("button", { name: "Zoomer sur Parcel 7" }).click();
  await page.locator(".map-card h2", { hasText: "Parcel 7" }).waitFor();
  assert.equal(await page.locator(".map-table").isVisible(), false);
  assert.deepEqual(errors, []);
  await context.close();
});

function isFocused(element) {
  return element === document.activeElement;
}
