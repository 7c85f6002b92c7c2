// The main tasks with the keyboard alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, waitForMap } from "./browser.mjs";
import { OWNER, useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("log in, create a folder, search, open a row and list the shortcuts", async () => {
  const { context, page, errors } = await fixture.openPage();
  const { keyboard } = page;
  await logInByKeyboard(page);

  await keyboard.press("g");
  await keyboard.press("f");
  await page.waitForURL("**/folders");
  await keyboard.press("n");
  await page.waitForURL("**/folders/new**");
  await tabTo(page, "main [name=name]");
  await keyboard.type("Quarry volumes, autumn");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Quarry volumes, autumn" }).waitFor();

  await keyboard.press("g");
  await keyboard.press("f");
  await page.waitForURL("**/folders");
  await keyboard.press("j");
  await keyboard.press("j");
  await keyboard.press("k");
  const first = await page.locator("main tbody tr").first().locator("td.name a").getAttribute("href");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("href")), first);
  await keyboard.press("Enter");
  await page.waitForURL(`**${first}`);

  await keyboard.press("/");
  await keyboard.type("chene");
  await keyboard.press("Enter");
  await page
    .getByRole("link", { name: /Chêne, boundary survey/ })
    .first()
    .waitFor();

  // Leaves the search field, where "?" is text.
  await keyboard.press("Escape");
  await keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor({ state: "hidden" });

  await tabTo(page, "summary.avatar");
  await keyboard.press("Enter");
  await keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Account");
  await keyboard.press("Escape");
  assert.equal(await page.locator("details.account[open]").count(), 0);
  assert.deepEqual(errors, []);
  await context.close();
});

test("draw a line on the map and save it", async () => {
  const { context, page, errors } = await fixture.openPage();
  const { keyboard } = page;
  await logInByKeyboard(page);
  await keyboard.press("g");
  await keyboard.press("m");
  await page.waitForURL("**/map**");
  await waitForMap(page);
  await tabTo(page, ".map-tools .button");
  await keyboard.press("Enter");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await keyboard.press("Space");
  await pan(page, "ArrowRight");
  await keyboard.press("Space");
  await pan(page, "ArrowDown");
  await keyboard.press("Space");
  await keyboard.press("Enter");
  await page.getByRole("region", { name: "New shape" }).waitFor();
  await keyboard.type("chene");
  await page.getByRole("option", { name: /Chêne/ }).waitFor();
  await keyboard.press("ArrowDown");
  await keyboard.press("Enter");
  await keyboard.press("Enter");
  await page.getByText("Shape saved.").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

async function logInByKeyboard(page) {
  await page.goto(`${fixture.url}/login`);
  await tabTo(page, "[name=email]");
  await page.keyboard.type(OWNER.email);
  await tabTo(page, "[name=password]");
  await page.keyboard.type(OWNER.password);
  await page.keyboard.press("Enter");
  await page.locator(".rail").waitFor();
  // Shortcuts work once the script has run.
  await page.waitForLoadState();
}

/** Presses Tab until an element that matches the selector has the focus. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${selector}`);
}

/** Moves the map with an arrow key and waits for its new position in the URL. */
async function pan(page, key) {
  const before = page.url();
  await page.keyboard.press(key);
  await page.waitForFunction((url) => location.href !== url, before);
}

test("Ctrl+K searches while typing, and the arrow keys choose a hit", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/budgets`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("che");
  const hits = page.locator("#hits a");
  await hits.first().waitFor();
  assert.match(await hits.first().textContent(), /F-000001\s+Chêne, boundary survey/);
  await assertAccessible(page, "search hits");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/folders\/F-000001$/);
  /** Types into the search, and waits until the first hit is this one. */
  const search = async (typed, wanted) => {
    await page.keyboard.press("Control+k");
    await page.locator(".search input").fill(typed);
    await page.waitForFunction((pattern) => {
      const text = document.querySelector("#hits a")?.textContent ?? "";
      return new RegExp(pattern).test(text.replace(/\s+/g, " ").trim());
    }, wanted);
  };
  await search("owner@", "Person$");
  await search("webhooks", "^Webhooks Page$");
  await search("47.6535, 2.0855", "Place on the map");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/map#map=17\/47\.653/);
  assert.deepEqual(errors, []);
  await context.close();
});
