// Visits every page that a link leads to, in both languages. A page must cause no errors in the browser,
// pass axe in both themes, and fit a desktop, a tablet and a phone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, DESKTOP, PHONE, TABLET, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

// Every language with a screen on which all rules are checked.
for (const [locale, full] of [
  ["en-GB", DESKTOP],
  ["fr-FR", TABLET],
]) {
  test(`every linked page works, is accessible and fits the screen, ${locale}`, async (t) => {
    const { context, page, errors } = await fixture.openPageLoggedIn({ locale, hasTouch: true });
    const visited = new Set();
    const queue = ["/", "/folders", "/folders/F-000001", "/map"];
    while (queue.length > 0) {
      const path = queue.shift();
      const kind = kindOfPage(path);
      if (kind === null || visited.has(kind)) continue;
      visited.add(kind);
      await t.test(path, async () => {
        await page.setViewportSize(DESKTOP);
        await page.emulateMedia({ colorScheme: "light" });
        const response = await page.goto(fixture.url + path);
        assert.equal(response.status(), 200, path);
        assert.equal(await page.locator("html").getAttribute("lang"), locale.slice(0, 2), path);
        if (await page.locator("#map").count()) await waitForMap(page);
        queue.push(...(await pageLinks(page)));
        for (const size of [DESKTOP, TABLET, PHONE]) {
          await page.setViewportSize(size);
          await assertFitsWidth(page, `${path}, ${size.width} px`);
        }
        await page.setViewportSize(full);
        await assertAccessible(page, path);
        await page.setViewportSize(PHONE);
        await page.emulateMedia({ colorScheme: "dark" });
        await assertAccessible(page, `${path}, phone, dark`, [
          "color-contrast",
          "target-size",
          "scrollable-region-focusable",
        ]);
        assert.deepEqual(errors.splice(0), [], path);
      });
    }
    // With fewer kinds of pages, the test missed some links.
    assert(visited.size >= 45, [...visited].join("\n"));
    await context.close();
  });
}

test("login, setup, invitation and error pages are accessible and fit the screen", async () => {
  const { context, page } = await fixture.openPage();
  for (const path of ["/login", "/setup", "/join/no-such-invitation", "/no-such-page"]) {
    await page.setViewportSize(DESKTOP);
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(fixture.url + path);
    await assertAccessible(page, path);
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, `${path}, dark`, ["color-contrast"]);
    await page.setViewportSize(PHONE);
    await assertFitsWidth(page, `${path}, phone`);
  }
  await context.close();
});

/** The paths of the application's pages that a page links to. */
async function pageLinks(page) {
  const links = await page.locator("a[href]").evaluateAll((anchors) => anchors.map(({ href }) => href));
  return links
    .map((link) => new URL(link))
    .filter(({ origin, pathname }) => origin === fixture.url && !/^\/(api|docs|assets)\b/.test(pathname))
    .filter(({ pathname }) => !/\/(export|download)\b|\.(csv|json|geojson)$/.test(pathname))
    .map(({ pathname, search }) => pathname + search);
}

/**
 * Pages that differ only in the record, page number or sort order are of one kind. Returns null for pages
 * with more than one parameter: filters are tested one by one.
 */
function kindOfPage(path) {
  const { pathname, searchParams } = new URL(path, fixture.url);
  if (searchParams.size > 1) return null;
  const parts = pathname
    .split("/")
    .map((part) => (/^([FABE]-|[0-9a-f]{8}-)|^\d+$/.test(decodeURIComponent(part)) ? "*" : part));
  return `${parts.join("/")}?${[...searchParams.keys()].join("")}`;
}
