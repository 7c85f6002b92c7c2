// The main path with the keyboard alone: no pointer is ever used here.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mapReady, openBrowser, openPage } from "./browser.mjs";
import { openOffice, OWNER } from "./office.mjs";
import { Program } from "./program.mjs";

let program;
let browser;
before(async () => {
  program = await Program.start({ before: openOffice });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await program?.stop();
});

test("from logging in to a new folder, a search, a row and the list of keys", async () => {
  const { context, page, complaints } = await openPage(browser);
  const { keyboard } = page;
  await page.goto(`${program.url}/login`);
  await tabTo(page, "[name=email]");
  await keyboard.type(OWNER.email);
  await tabTo(page, "[name=password]");
  await keyboard.type(OWNER.password);
  await keyboard.press("Enter");
  await page.locator(".rail").waitFor();

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

  // Out of the field for the search, where a question mark is a question mark.
  await keyboard.press("Escape");
  await keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "hidden" });

  // The account menu opens, is walked through and closes again.
  await tabTo(page, "summary.me");
  await keyboard.press("Enter");
  await keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Account");
  await keyboard.press("Escape");
  assert.equal(await page.locator("details.account[open]").count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a line is drawn on the map and kept, without a pointer", async () => {
  const { context, page, complaints } = await openPage(browser);
  const { keyboard } = page;
  await page.goto(`${program.url}/login`);
  await tabTo(page, "[name=email]");
  await keyboard.type(OWNER.email);
  await tabTo(page, "[name=password]");
  await keyboard.type(OWNER.password);
  await keyboard.press("Enter");
  await page.locator(".rail").waitFor();
  await keyboard.press("g");
  await keyboard.press("m");
  await page.waitForURL("**/map**");
  await mapReady(page);
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
  await page.getByText("The shape is saved.").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Presses Tab until the focus is there. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 80; presses += 1) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab never came to ${selector}`);
}

/** Moves the map by an arrow and waits until it rests: the address says where it is. */
async function pan(page, key) {
  const before = page.url();
  await page.keyboard.press(key);
  await page.waitForFunction((url) => location.href !== url, before);
}
