// The check of a layer: problems with links to the map, and their repair.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, PHONE, waitForMap } from "./browser.mjs";
import { seedWorkspace, useFixture } from "./fixture.mjs";

const fixture = useFixture({ prepare: seedProblems });

/** Parcels and, among them, one that crosses itself and one that is there twice. */
async function seedProblems(server) {
  await seedWorkspace(server);
  const [x, y] = [2.2, 47.7];
  const square = [
    [x, y],
    [x + 0.001, y],
    [x + 0.001, y + 0.001],
    [x, y + 0.001],
    [x, y],
  ];
  const crossing = [0, 2, 1, 3, 0].map((index) => square[index]);
  const bowTie = crossing.map(([east, north]) => [east + 0.01, north]);
  const features = [square, square, bowTie].map((ring) => ({
    type: "Feature",
    properties: {},
    geometry: { type: "Polygon", coordinates: [ring] },
  }));
  const document = JSON.stringify({ type: "FeatureCollection", features });
  const file = await server.writeFile("lots.geojson", document);
  await server.run("import", "layer", file, "--workspace", "Demo office");
}

async function openCheck(page) {
  await page.goto(`${fixture.url}/settings/layers`);
  await page.getByRole("link", { name: "Edit lots" }).click();
  await page.getByRole("link", { name: "Check", exact: true }).click();
  await page.getByRole("heading", { name: "Check lots" }).waitFor();
}

test("problems are listed with their place on the map, and repaired", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await openCheck(page);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("3 shapes checked").waitFor();
  assert.equal(await page.getByRole("cell", { name: "Crosses or touches itself" }).count(), 2);
  await assertAccessible(page, "the check of a layer");
  await page.emulateMedia({ colorScheme: "dark" });
  await assertAccessible(page, "the check of a layer in dark colors");
  await page.emulateMedia({ colorScheme: "light" });

  const row = page.getByRole("row", { name: /Crosses or touches itself.*47/ });
  const link = row.getByRole("link");
  const place = await link.getAttribute("href");
  await link.click();
  await waitForMap(page);
  assert.match(place, /^\/map#map=19\/47\.70.*&feature=lots\//);
  await page.locator(".map-card").getByText("lots").first().waitFor();

  await openCheck(page);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("button", { name: "Repair…" }).click();
  await page.getByText("Shapes to repair: 1. Copies to delete: 1.").waitFor();
  await assertAccessible(page, "the confirmation of a repair");
  await page.getByRole("button", { name: "Repair", exact: true }).click();
  await page.getByText("Shapes repaired: 1. Copies deleted: 1.").waitFor();
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("No problems found.").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("the page works on a phone without script", async () => {
  const options = { viewport: PHONE, javaScriptEnabled: false };
  const { context, page } = await fixture.openPageLoggedIn(options);
  await openCheck(page);
  await page.getByLabel("Tolerance (meters)").fill("wide");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("Tolerance must be a number from 0.001 to 100.").waitFor();
  await page.getByLabel("Tolerance (meters)").fill("0.05");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("shapes checked").waitFor();
  await assertFitsWidth(page, "the check of a layer");
  await context.close();
});
