// Every page that a link leads to: no complaint of the browser (a report of the Content-Security-Policy
// is one), nothing for axe to find in light or in dark, and nothing wider than a phone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  assertAccessible,
  assertFits,
  DESK,
  logIn,
  mapReady,
  openBrowser,
  openPage,
  PHONE,
} from "./browser.mjs";
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

test("every page is sound", async (t) => {
  const { context, page, complaints } = await openPage(browser, { hasTouch: true });
  await logIn(page, program.url, OWNER);
  const seen = new Set();
  const waiting = ["/", "/folders", "/folders/F-000001", "/map"];
  while (waiting.length > 0) {
    const path = waiting.shift();
    const pattern = patternOf(path);
    if (pattern === null || seen.has(pattern)) continue;
    seen.add(pattern);
    await t.test(path, async () => {
      await page.setViewportSize(DESK);
      await page.emulateMedia({ colorScheme: "light" });
      const response = await page.goto(program.url + path);
      assert.equal(response.status(), 200, path);
      if (await page.locator("#map").count()) await mapReady(page);
      waiting.push(...(await linksOf(page)));
      await assertFits(page, path);
      await assertAccessible(page, path);
      await page.emulateMedia({ colorScheme: "dark" });
      await assertAccessible(page, `${path}, dark`, ["color-contrast"]);
      await page.setViewportSize(PHONE);
      await assertFits(page, `${path}, phone`);
      await assertAccessible(page, `${path}, phone`, [
        "color-contrast",
        "target-size",
        "scrollable-region-focusable",
      ]);
      assert.deepEqual(complaints.splice(0), [], path);
    });
  }
  // So many kinds of page there are at least; fewer means that the walk went astray.
  assert(seen.size >= 45, [...seen].join("\n"));
  await context.close();
});

test("pages before someone is in, and those that say what went wrong, are sound", async () => {
  const { context, page } = await openPage(browser);
  for (const path of ["/login", "/setup", "/join/no-such-invitation", "/no-such-page"]) {
    await page.setViewportSize(DESK);
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(program.url + path);
    await assertAccessible(page, path);
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, `${path}, dark`, ["color-contrast"]);
    await page.setViewportSize(PHONE);
    await assertFits(page, `${path}, phone`);
  }
  await context.close();
});

/** Pages of this application that a page links to. */
async function linksOf(page) {
  const links = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.href));
  return links
    .map((link) => new URL(link))
    .filter(({ origin, pathname }) => origin === program.url && !/^\/(api|docs|assets)\b/.test(pathname))
    .filter(({ pathname }) => !/\/(export|download)\b|\.(csv|json|geojson)$/.test(pathname))
    .map(({ pathname, search }) => pathname + search);
}

/**
 * Pages that differ only in which record, page or order they show are one kind; filters are looked at
 * one by one, not together.
 */
function patternOf(path) {
  const { pathname, searchParams } = new URL(path, program.url);
  if (searchParams.size > 1) return null;
  const parts = pathname
    .split("/")
    .map((part) => (/^([FABE]-|[0-9a-f]{8}-)|^\d+$/.test(decodeURIComponent(part)) ? "*" : part));
  return `${parts.join("/")}?${[...searchParams.keys()].join("")}`;
}
