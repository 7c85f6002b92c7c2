// Every page that a link leads to: no complaint, nothing for axe to find in light or in dark, and
// nothing wider than a phone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertAccessible, assertFits, logIn, openBrowser, openPage, PHONE } from "./browser.mjs";
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

for (const look of [
  { name: "light", colorScheme: "light" },
  { name: "dark", colorScheme: "dark" },
  { name: "phone", colorScheme: "light", viewport: PHONE, hasTouch: true },
]) {
  test(`every page is sound, ${look.name}`, async (t) => {
    const { name: _, ...options } = look;
    const { context, page, complaints } = await openPage(browser, options);
    await logIn(page, program.url, OWNER);
    const seen = new Map();
    const waiting = ["/", "/folders", "/folders/F-000001", "/map"];
    while (waiting.length > 0) {
      const path = waiting.shift();
      if (seen.has(patternOf(path))) continue;
      seen.set(patternOf(path), path);
      await t.test(path, async () => {
        const response = await page.goto(program.url + path);
        assert.equal(response.status(), 200, path);
        if (await page.locator("#map").count()) await page.locator("#map[data-ready]").waitFor();
        waiting.push(...(await linksOf(page)));
        await assertFits(page, path);
        await assertAccessible(page, `${path}, ${look.name}`);
        assert.deepEqual(complaints.splice(0), [], path);
      });
    }
    // So many kinds of page there are at least; fewer means that the walk went astray.
    assert(seen.size >= 25, [...seen.values()].join("\n"));
    await context.close();
  });
}

/** Pages of this application that a page links to. */
async function linksOf(page) {
  const links = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.href));
  return links
    .map((link) => new URL(link))
    .filter(({ origin, pathname }) => origin === program.url && !/^\/(api|docs|assets)\b/.test(pathname))
    .filter(({ pathname }) => !/\/(export|download)\b|\.(csv|json|geojson)$/.test(pathname))
    .map(({ pathname, search }) => pathname + search);
}

/** Pages that differ only in which record, page or order they show are one kind. */
function patternOf(path) {
  const { pathname, searchParams } = new URL(path, program.url);
  const parts = pathname
    .split("/")
    .map((part) => (/^([FABE]-|[0-9a-f]{8}-)|^\d+$/.test(decodeURIComponent(part)) ? "*" : part));
  return `${parts.join("/")}?${[...searchParams.keys()].sort().join("&")}`;
}
