// The export menus: of lists, a folder, the search, and layers on the map and in the settings.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { DESKTOP, PHONE, assertAccessible, assertFitsWidth, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

/** The labels of the menus in each language, at one width each. */
const PAGES = [
  {
    locale: "en-GB",
    viewport: DESKTOP,
    export: "Export",
    records: "Download records",
    shapes: "Download shapes",
    folders: "Folders",
    expenses: "Expenses",
    kind: "Records",
    format: "Format",
    crs: "Reference system",
    options: "Options of parcels",
    download: "Download",
    style: "Style",
  },
  {
    locale: "fr-FR",
    viewport: PHONE,
    export: "Exporter",
    records: "Télécharger les données",
    shapes: "Télécharger les objets",
    folders: "Dossiers",
    expenses: "Dépenses",
    kind: "Données",
    format: "Format",
    crs: "Système de référence",
    options: "Options de parcels",
    download: "Télécharger",
    style: "Style",
  },
];

/** Runs an action that downloads a file; returns the name and the content of the file. */
async function download(page, action) {
  const [started] = await Promise.all([page.waitForEvent("download"), action()]);
  return { name: started.suggestedFilename(), content: await readFile(await started.path()) };
}

/** Opens the menu of a page with the keyboard. */
async function openMenu(page, label) {
  const summary = page.locator("main .menu > summary", { hasText: label }).first();
  await summary.focus();
  await page.keyboard.press("Enter");
  await page.locator("main .menu[open] .menu-panel").waitFor();
}

const references = (csv) =>
  csv
    .toString()
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(",").find((cell) => /^[FABE]-\d+$/.test(cell)));

for (const labels of PAGES) {
  const { locale, viewport } = labels;
  const where = `in ${locale} at ${viewport.width} px`;
  const open = () => fixture.openPageLoggedIn({ locale, viewport, acceptDownloads: true });

  test(`a list is exported with its filters ${where}`, async () => {
    const { context, page, errors } = await open();
    for (const plural of ["folders", "assignments", "expenses", "budgets"]) {
      await page.goto(`${fixture.url}/${plural}`);
      await openMenu(page, labels.export);
      assert.deepEqual(await page.locator(".menu[open] a").allTextContents(), [
        "CSV",
        "Excel (XLSX)",
        "JSON",
        "NDJSON",
      ]);
      const box = await page.locator(".menu[open] .menu-panel").boundingBox();
      assert(box.x >= 0 && box.x + box.width <= viewport.width, `${plural}: ${JSON.stringify(box)}`);
      await page.keyboard.press("ArrowDown");
      const { name, content } = await download(page, () => page.keyboard.press("Enter"));
      assert.match(name, /-\d{4}-\d\d-\d\d\.csv$/);
      assert(references(content).length > 0, plural);
    }
    await page.goto(`${fixture.url}/folders?sort=reference`);
    await page.locator("main [name=q]").fill("sewer network, sheet 1");
    await page.waitForURL(/q=sewer/);
    await page.locator(".active-filter").waitFor();
    await openMenu(page, labels.export);
    await assertAccessible(page, `the export menu of a list ${where}`);
    await assertFitsWidth(page, `the export menu of a list ${where}`);
    for (const [format, start] of [
      ["CSV", "reference"],
      ["Excel (XLSX)", "PK"],
      ["JSON", "["],
      ["NDJSON", "{"],
    ]) {
      const link = page.locator(".menu[open] a", {
        hasText: new RegExp(`^${format.replace(/[()]/g, "\\$&")}$`),
      });
      const { name, content } = await download(page, () => link.click());
      assert(name.startsWith(labels.folders), name);
      assert(content.toString().includes(start) && content.indexOf(start) < 60, `${format}: ${name}`);
      // Sheets 1 and 10 to 19.
      if (format === "CSV") {
        assert.equal(references(content).length, 11);
        assert.deepEqual(references(content).slice(0, 2), ["F-100000", "F-100009"]);
      }
    }
    assert.deepEqual(errors, []);
    await context.close();
  });

  test(`records and shapes of a folder are exported ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/folders/F-000001`);
    await openMenu(page, labels.export);
    await assertAccessible(page, `the export menu of a folder ${where}`);
    await assertFitsWidth(page, `the export menu of a folder ${where}`);
    const panel = page.locator(".menu[open] .menu-panel");
    const box = await panel.boundingBox();
    assert(box.x >= 0 && box.x + box.width <= viewport.width, JSON.stringify(box));
    await panel.getByLabel(labels.kind).selectOption("expenses");
    const records = await download(page, () => panel.getByRole("button", { name: labels.records }).click());
    assert(records.name.startsWith(`F-000001-${labels.expenses}-`), records.name);
    assert.deepEqual(references(records.content), ["E-000001", "E-000002"]);
    // The page stays as it is, without a progress bar.
    await page.waitForTimeout(400);
    assert.equal(await page.locator(".progress.on").count(), 0);

    await panel.getByLabel(labels.format).last().selectOption("geojson");
    await panel.getByLabel(labels.crs).selectOption("");
    const button = panel.getByRole("button", { name: labels.shapes });
    await button.focus();
    const shapes = await download(page, () => page.keyboard.press("Enter"));
    assert.equal(shapes.name, "F-000001-parcels.geojson");
    assert.equal(JSON.parse(shapes.content).features.length, 12);
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("main .menu[open]").count(), 0);
    assert.deepEqual(errors, []);
    await context.close();
  });

  test(`search results are exported ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/search?q=field`);
    await openMenu(page, labels.export);
    await assertAccessible(page, `the export menu of the search ${where}`);
    await assertFitsWidth(page, `the export menu of the search ${where}`);
    const panel = page.locator(".menu[open] .menu-panel");
    await panel.getByLabel(labels.kind).selectOption("budgets");
    const found = await download(page, () => panel.getByRole("button", { name: labels.records }).click());
    assert.match(found.name, /-field-\d{4}-\d\d-\d\d\.csv$/);
    assert.deepEqual(references(found.content), ["B-000001"]);
    assert.deepEqual(errors, []);
    await context.close();
  });

  test(`a layer is exported from the map and from its settings ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/map#map=17/47.6535/2.086`);
    await waitForMap(page);
    const panel = page.locator(".map-panel");
    if (!(await panel.evaluate((element) => element.open))) await panel.locator("> summary").click();
    await page.getByLabel(labels.options).click();
    const menu = page.locator(".map-layer-export");
    await menu.locator("summary").focus();
    await page.keyboard.press("Enter");
    await menu.locator("form").waitFor();
    await assertAccessible(page, `the export of a layer on the map ${where}`);
    await assertFitsWidth(page, `the export of a layer on the map ${where}`);
    const formats = await menu
      .locator("[name=format] option")
      .evaluateAll((all) => all.map(({ value }) => value));
    assert.deepEqual(formats, [
      "geojson",
      "geojsonseq",
      "gpkg",
      "shapefile",
      "flatgeobuf",
      "csv",
      "kml",
      "dxf",
    ]);
    for (const [format, file, start] of [
      ["geojson", "parcels.geojson", "{"],
      ["geojsonseq", "parcels.geojsonl", "{"],
      ["gpkg", "parcels.gpkg", "SQLite format 3"],
      ["shapefile", "parcels.zip", "PK"],
      ["flatgeobuf", "parcels.fgb", "fgb"],
      ["csv", "parcels.csv", "groma_id"],
      ["kml", "parcels.kml", "<?xml"],
      ["dxf", "parcels.dxf", "SECTION"],
    ]) {
      await menu.locator("[name=format]").selectOption(format);
      const button = menu.getByRole("button", { name: labels.download });
      const { name, content } = await download(page, () => button.click());
      assert.equal(name, file);
      assert(
        content.subarray(0, 60).toString("latin1").includes(start),
        `${format}: ${content.subarray(0, 60)}`,
      );
    }

    await page.goto(`${fixture.url}/settings/layers`);
    await page.getByRole("link", { name: "parcels", exact: true }).click();
    await page.getByRole("link", { name: labels.style, exact: true }).click();
    await openMenu(page, labels.export);
    await assertAccessible(page, `the export of a layer in the settings ${where}`);
    await assertFitsWidth(page, `the export of a layer in the settings ${where}`);
    const settings = page.locator(".menu[open] .menu-panel");
    const box = await settings.boundingBox();
    assert(box.x >= 0 && box.x + box.width <= viewport.width, JSON.stringify(box));
    await settings.getByLabel(labels.format).selectOption("kml");
    const kml = await download(page, () => settings.getByRole("button", { name: labels.shapes }).click());
    assert.equal(kml.name, "parcels.kml");
    assert.deepEqual(errors, []);
    await context.close();
  });
}

test("the arrow keys choose an option in a menu, and move between links", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000001`);
  await openMenu(page, "Export");
  const kind = page.locator(".menu[open]").getByLabel("Records");
  await kind.focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await kind.evaluate((select) => select === document.activeElement), true);
  await page.goto(`${fixture.url}/folders`);
  await openMenu(page, "Export");
  for (let presses = 0; presses < 2; presses += 1) await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Excel (XLSX)");
  await context.close();
});

test("an export that fails is explained on a page", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ locale: "fr-FR" });
  await page.goto(`${fixture.url}/folders`);
  const response = await page.goto(`${fixture.url}/lists/folders/export?format=pdf`);
  assert.equal(response.status(), 400);
  await page.getByText("Choisissez l’un des formats du menu.").waitFor();
  await context.close();
});
