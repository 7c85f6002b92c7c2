// Imports of files: dropping them, the preview, the options, the progress, cancelling, and the report.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { DESKTOP, PHONE, assertAccessible, assertFitsWidth, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

/** Points near the parcels of the workspace. */
function points(count, id = "mark") {
  const features = Array.from({ length: count }, (_, index) => ({
    type: "Feature",
    id: `${id}-${index}`,
    properties: { number: index, kind: "stone" },
    geometry: { type: "Point", coordinates: [2.084 + (index % 100) * 1e-5, 47.652 + index * 1e-7] },
  }));
  return JSON.stringify({ type: "FeatureCollection", features });
}

/** Drops files on an element, as the desktop would. */
async function drop(page, locator, files) {
  const data = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const { name, content } of files) transfer.items.add(new File([content], name));
    return transfer;
  }, files);
  await locator.dispatchEvent("dragover", { dataTransfer: data });
  await page.locator(".drop-overlay").waitFor({ state: "visible" });
  await locator.dispatchEvent("drop", { dataTransfer: data });
}

/** Waits for an element of an import's page, which only follows the import by itself if scripts run. */
async function waitForImport(page, element, javaScriptEnabled) {
  while (!javaScriptEnabled && (await element.count()) === 0) await page.reload();
  await element.waitFor();
}

const count = async (page, name) =>
  Number((await page.locator(`[data-count=${name}] dd`).textContent()).replace(/\D/g, ""));

const PAGES = [
  {
    locale: "en-GB",
    viewport: DESKTOP,
    start: "Import",
    check: "Check again",
    cancel: "Cancel import",
    done: "Imported",
    cancelled: "Cancelled",
    nothing: "Nothing was imported.",
    show: "Show on the map",
    upload: "Upload and check",
    rejected: "Download rejected rows",
  },
  {
    locale: "fr-FR",
    viewport: PHONE,
    start: "Importer",
    check: "Vérifier à nouveau",
    cancel: "Annuler l’importation",
    done: "Importé",
    cancelled: "Annulé",
    nothing: "Rien n’a été importé.",
    show: "Afficher sur la carte",
    upload: "Envoyer et vérifier",
    rejected: "Télécharger les lignes refusées",
  },
];

for (const labels of PAGES) {
  const { locale, viewport } = labels;
  const where = `in ${locale} at ${viewport.width} px`;
  const open = () => fixture.openPageLoggedIn({ locale, viewport, acceptDownloads: true });

  test(`a file that is dropped on the map becomes a layer ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/map#map=17/47.6535/2.086`);
    await waitForMap(page);
    await drop(page, page.locator("#map"), [{ name: `marks ${locale}.geojson`, content: points(300) }]);
    await page.waitForURL(/\/imports\//);
    await page.locator("[data-import-options]").waitFor();
    await assertAccessible(page, `the preview of an import ${where}`);
    await assertFitsWidth(page, `the preview of an import ${where}`);
    assert.equal(await count(page, "created"), 300);
    assert.equal(await page.locator("#name").inputValue(), `marks ${locale}`);
    assert.equal(await page.locator("#mode").count(), 0, "a new layer has no features yet");
    await page.getByRole("button", { name: labels.start, exact: true }).click();
    await page.getByText(labels.done, { exact: true }).waitFor();
    await assertAccessible(page, `the report of an import ${where}`);
    await page.getByRole("link", { name: labels.show }).click();
    await page.waitForURL(/\/map#map=/);
    await waitForMap(page);
    assert.deepEqual(errors, []);
    await context.close();
  });

  test(`a file is dropped on a list, and its columns are chosen ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/folders`);
    const reference = `I-${locale}`;
    const content = `reference,name,Kommentar\n${reference},Imported,a remark\n`;
    await drop(page, page.locator("main"), [{ name: "folders.csv", content }]);
    await page.waitForURL(/\/imports\//);
    const options = page.locator("[data-import-options]");
    await options.waitFor();
    await assertAccessible(page, `the columns of an import ${where}`);
    await assertFitsWidth(page, `the columns of an import ${where}`);
    await page.locator(".notice", { hasText: "Kommentar" }).waitFor();
    await options.locator("select[name=field]").last().selectOption("description");
    await page.getByRole("button", { name: labels.check }).click();
    await page.getByRole("button", { name: labels.start, exact: true }).click();
    await page.getByText(labels.done, { exact: true }).waitFor();
    await page.goto(`${fixture.url}/folders/${reference}`);
    await page.getByText("a remark").first().waitFor();
    assert.deepEqual(errors, []);
    await context.close();
  });

  test(`an import is cancelled, and another one reports what it rejects ${where}`, async () => {
    const { context, page, errors } = await open();
    await page.goto(`${fixture.url}/imports`);
    await assertAccessible(page, `the list of imports ${where}`);
    await assertFitsWidth(page, `the list of imports ${where}`);
    const file = { name: "one.csv", mimeType: "text/csv", buffer: Buffer.from("name\nOne\n\n,\n") };
    await page.locator("[name=into]").selectOption("folders");
    await page.locator("[type=file]").setInputFiles(file);
    await page.getByRole("button", { name: labels.upload }).click();
    await page.waitForURL(/\/imports\/./);
    await page.getByRole("button", { name: labels.cancel }).click();
    await page.getByText(labels.nothing).waitFor();
    await page.getByText(labels.cancelled, { exact: true }).waitFor();

    await page.goto(`${fixture.url}/imports?into=expenses`);
    const rows = "folder,unitAmount,incurredOn\nF-000001,1.00,2026-03-01\nF-000001,much,2026-03-01\n";
    await page
      .locator("[type=file]")
      .setInputFiles({ ...file, name: "costs.csv", buffer: Buffer.from(rows) });
    await page.getByRole("button", { name: labels.upload }).click();
    await page.locator("[data-import-options]").waitFor();
    assert.equal(await count(page, "rejected"), 1);
    assert.equal(await page.getByRole("button", { name: labels.start, exact: true }).count(), 0);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: labels.rejected }).click(),
    ]);
    assert.match(await readFile(await download.path(), "utf8"), /\n3,/);
    assert.deepEqual(errors, []);
    await context.close();
  });
}

test("a file that is dropped on a layer is imported into it", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ viewport: DESKTOP });
  await page.goto(`${fixture.url}/map#map=17/47.6535/2.086`);
  await waitForMap(page);
  const layer = page.locator(".map-panel [data-import-into]", { hasText: "parcels" });
  await drop(page, layer, [{ name: "more.geojson", content: points(5, "more") }]);
  await page.waitForURL(/\/imports\//);
  await page.locator("[data-import-options]").waitFor();
  assert.match(await page.locator("#into option:checked").textContent(), /parcels/);
  assert.equal(await page.locator("#mode").count(), 1);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the page of a large import follows its progress", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ viewport: DESKTOP });
  await page.goto(`${fixture.url}/imports`);
  const buffer = Buffer.from(points(40_000, "many"));
  await page.locator("[name=into]").selectOption("new");
  await page
    .locator("[type=file]")
    .setInputFiles({ name: "many.geojson", mimeType: "application/geo+json", buffer });
  await page.getByRole("button", { name: "Upload and check" }).click();
  await page.waitForURL(/\/imports\/./);
  // The page changes by itself from the progress to the preview.
  await page.locator("[data-import-options]").waitFor();
  assert.equal(await count(page, "created"), 40_000);
  const start = page.getByRole("button", { name: "Import", exact: true });
  await page.locator("#name").fill("Many marks");
  assert.equal(await start.isDisabled(), true, "changed options must be checked first");
  await page.getByRole("button", { name: "Check again" }).click();
  await start.click();
  await page.locator("[data-import-progress]").waitFor();
  const address = page.url();
  // It goes on without the page.
  await page.goto(`${fixture.url}/folders`);
  await page.goto(address);
  await page.getByText("Created: 40,000").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

for (const javaScriptEnabled of [true, false]) {
  test(`the columns with the geometry are chosen ${javaScriptEnabled ? "with" : "without"} script`, async () => {
    const { context, page, errors } = await fixture.openPageLoggedIn({ javaScriptEnabled });
    await page.goto(`${fixture.url}/imports?into=new`);
    await page.locator("[type=file]").setInputFiles({
      name: "survey.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("point,rechts,hoch\nA,2.0841,47.6521\n"),
    });
    await page.getByRole("button", { name: "Upload and check" }).click();
    await page.waitForURL(/\/imports\/./);
    await waitForImport(page, page.locator("[data-import-options]"), javaScriptEnabled);
    await page.getByText("No column is recognized as the geometry.").waitFor();
    if (javaScriptEnabled) await assertAccessible(page, "the columns of a geometry");
    await page.getByLabel("Column with x or longitude").selectOption("rechts");
    await page.getByLabel("Column with y or latitude").selectOption("hoch");
    await page.getByLabel("Reference system of the file").fill("EPSG:4326");
    await page.locator("#name").fill(`Survey ${javaScriptEnabled}`);
    await page.getByRole("button", { name: "Check again" }).click();
    await waitForImport(page, page.locator("[data-count=created]"), javaScriptEnabled);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await waitForImport(page, page.getByText("Created: 1"), javaScriptEnabled);
    assert.deepEqual(errors, []);
    await context.close();
  });
}

test("a file is imported without script", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ javaScriptEnabled: false });
  await page.goto(`${fixture.url}/imports?into=folders`);
  await page.locator("[type=file]").setInputFiles({
    name: "plain.csv",
    mimeType: "text/csv",
    buffer: Buffer.from("name\nWithout script\n"),
  });
  await page.getByRole("button", { name: "Upload and check" }).click();
  await page.waitForURL(/\/imports\/./);
  await waitForImport(page, page.locator("[data-import-options]"), false);
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await waitForImport(page, page.getByText("Created: 1"), false);
  assert.deepEqual(errors, []);
  await context.close();
});
