// The map page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("a link shows the same map to a colleague, and the map remembers its position", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/map#map=17/47.6525/2.0845`);
  await waitForMap(page);
  await page.locator("#map canvas").click();
  await page.locator(".map-card").waitFor();
  const title = await page.locator(".map-card h2").textContent();
  assert.match(title, /^Parcel /);
  await page.getByRole("checkbox", { name: "Folders" }).uncheck();
  assert.match(page.url(), /#map=17\/47\.6525\/2\.0845&feature=[\w-]+\/\d+&hidden=folders$/);
  const link = page.url();
  await context.close();

  const colleague = await fixture.openPageLoggedIn();
  await colleague.page.goto(link);
  await colleague.page.locator(".map-card h2", { hasText: title }).waitFor();
  assert.equal(await colleague.page.getByRole("checkbox", { name: "Folders" }).isChecked(), false);
  await colleague.page.getByRole("button", { name: "Close" }).click();
  assert.doesNotMatch(colleague.page.url(), /feature/);
  // The map remembers the position of the link, but not the layers that the link hides.
  await colleague.page.goto(`${fixture.url}/folders`);
  await colleague.page.goto(`${fixture.url}/map`);
  await waitForMap(colleague.page);
  assert.match(colleague.page.url(), /#map=17\/47\.6525\/2\.0845/);
  assert.equal(await colleague.page.getByRole("checkbox", { name: "Folders" }).isChecked(), true);
  assert.deepEqual([...errors, ...colleague.errors], []);
  await colleague.context.close();
});

test("Enter selects the folder whose reference was typed", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/map#map=17/47.6525/2.0845`);
  await waitForMap(page);
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("button", { name: "Point" }).click();
  await page.getByRole("button", { name: "Add point here" }).click();
  await page.locator("#map-folder").fill("f-000002");
  await page.locator("#map-folder").press("Enter");
  await page.waitForFunction(() => document.querySelector("#map-folder").value.includes(" · Ring road"));
  assert.equal(await page.locator("#map-folder-list").isVisible(), false);
  assert.deepEqual(errors, []);
  await context.close();
});
