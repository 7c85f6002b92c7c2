// Eight jobs of an office (two of them in one test), from start to end, in both languages and on screens of
// three sizes. Each has a limit of clicks. Labels of the page are not used, so that the same steps serve both languages.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, DESKTOP, PHONE, TABLET, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

for (const [locale, viewport, colorScheme] of [
  ["en-GB", DESKTOP, "light"],
  ["fr-FR", TABLET, "dark"],
  ["fr-FR", PHONE, "light"],
]) {
  const where = `${locale}, ${viewport.width} px, ${colorScheme}`;

  /** A test with a page, in which `click` counts. */
  const job = (name, maxClicks, steps) =>
    test(`${name} (${where})`, async () => {
      const options = { locale, viewport, colorScheme, permissions: ["clipboard-read", "clipboard-write"] };
      const { context, page, errors } = await fixture.openPageLoggedIn(options);
      const outside = [];
      page.on("request", (request) => {
        if (!/^(blob:|data:|http:\/\/127\.0\.0\.1:)/.test(request.url())) outside.push(request.url());
      });
      let clicks = 0;
      const click = async (selector) => {
        clicks += 1;
        await page.locator(selector).first().click();
      };
      await page.goto(fixture.url);
      await steps(page, click);
      await assertFitsWidth(page, name);
      await assertAccessible(page, name, ["color-contrast", "target-size", "label", "button-name"]);
      assert(clicks <= maxClicks, `${clicks} clicks`);
      assert.deepEqual(errors, []);
      assert.deepEqual(outside, [], "no request leaves the machine");
      await context.close();
    });

  job("find what is late", 1, async (page, click) => {
    await click("main a[href*='due=overdue']");
    await page.locator("table.one-line").getByText("Stake out the north line").waitFor();
  });

  job(
    "a folder with three assignments and a budget, and five expenses that exceed it",
    6,
    async (page, click) => {
      await click("a[href='/folders/new']");
      await page.locator("[name=name]").fill(`Lilac lane, ${where}`);
      await page.locator("[name=name]").press("Enter");
      await page.locator("#facts").waitFor();
      const form = (kind) => `.quick-add[data-kind=${kind}]`;
      const add = async (kind, values, rows) => {
        for (const [field, value] of Object.entries(values))
          await page.locator(`${form(kind)} [name=${field}]`).fill(value);
        await page.locator(`${form(kind)} [name=${Object.keys(values)[0]}]`).press("Enter");
        await page.waitForFunction(
          ([selector, count]) =>
            document.querySelector(selector)?.closest("section").querySelectorAll("tbody tr td.name")
              .length === count,
          [form(kind), rows],
        );
      };
      // Text in another form is kept.
      await click(`${form("budget")} > summary`);
      await page.locator(`${form("budget")} [name=name]`).fill("Field work");
      await click(`${form("assignment")} > summary`);
      for (const [index, title] of ["Reconnaissance", "Survey", "Plan"].entries())
        await add("assignment", { title }, index + 1);
      assert.equal(await page.locator(`${form("budget")} [name=name]`).inputValue(), "Field work");
      await add("budget", { amount: locale === "fr-FR" ? "1 000,00" : "1,000.00" }, 1);
      await click(`${form("expense")} > summary`);
      for (const [index, unitAmount] of ["100", "200", "300", "350", "180"].entries())
        await add("expense", { unitAmount }, index + 1);
      await page.locator(".toast.warning", { hasText: "113" }).waitFor();
      await page.locator("#facts .warning", { hasText: "130" }).waitFor();
    },
  );

  job("a parcel with typed lengths, from a folder without a place", 8, async (page, click) => {
    await page.goto(`${fixture.url}/folders/F-000002`);
    await click("a[href^='/map']");
    await waitForMap(page);
    await click(".map-tools button");
    // Area is the last of the shapes, before Cancel.
    await click(".map-tools button:nth-last-child(2)");
    const typed = page.locator(".map-typed input");
    if (!(await typed.first().isVisible())) await click(".map-tools details > summary");
    await typed.nth(2).fill("47.66, 2.09");
    await typed.nth(2).press("Enter");
    const sides =
      locale === "fr-FR"
        ? [
            ["40,5", "100 gon"],
            ["25", "0"],
            ["40,5", "300g"],
          ]
        : [
            ["40.5", "90"],
            ["25", "0"],
            ["40.5", "270"],
          ];
    for (const [length, bearing] of sides) {
      await typed.nth(0).fill(length);
      await typed.nth(1).fill(bearing);
      await typed.nth(1).press("Enter");
    }
    await page.locator(".map-size", { hasText: /1[.,\s\u202f]01\d/ }).waitFor();
    await click(".map-tools .map-actions button");
    const saved = page.waitForResponse("**/map/geometries");
    await click(".map-save [type=submit]");
    assert.equal((await saved).status(), 200);
  });

  job("parcels colored by an attribute", 7, async (page, click) => {
    await page.goto(`${fixture.url}/settings/layers`);
    await click("td.name a[href*='/settings/layers/']");
    await click("a[href$='/style']");
    await click("[name=mode][value=categories]");
    await page.locator("[name=property]").selectOption("section");
    await click("[name=action][value=suggest]");
    await page.locator("[name=category]").first().waitFor();
    await click(".layer-style .form-actions button");
    await page.locator(".layer-legend li", { hasText: "AB" }).waitFor();
  });

  job("a base map", 5, async (page, click) => {
    await page.goto(`${fixture.url}/settings/base-maps`);
    await click("main a[href='/settings/base-maps/new']");
    await click("a[href*='preset=openstreetmap']");
    assert.match(await page.locator("h1").textContent(), /OpenStreetMap/);
    await page.locator("[name=name]").fill(`Streets, ${viewport.width}`);
    await click("main form .form-actions button");
    await page.locator("main").getByText(`Streets, ${viewport.width}`).first().waitFor();
  });

  job("a token and its curl command", 4, async (page, click) => {
    await page.goto(`${fixture.url}/settings/tokens`);
    await click("main a[href='/settings/tokens/new']");
    await page.locator("[name=name]").fill(`Export, ${where}`);
    await click("[name=scope][value=READ_FOLDER]");
    await click("main form .form-actions button");
    const command = await page.locator(".curl code, .curl pre").first().textContent();
    const [, token] = /Bearer (\S+)"/.exec(command);
    const [, url] = /"(http[^"]+)"$/.exec(command.trim());
    const path = new URL(url);
    const response = await fetch(fixture.url + path.pathname + path.search, {
      headers: { Authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200);
  });

  job("a saved view of one client, opened again, deleted and restored", 10, async (page, click) => {
    await page.goto(`${fixture.url}/folders/F-000001`);
    await click("#facts a[href^='/folders?client=']");
    await click("#list details:has(.views) > summary");
    const name = `Council, ${viewport.width}`;
    await page.locator(".views [name=name]").fill(name);
    await page.locator(".views [name=name]").press("Enter");
    const chip = page.locator("#list details:has(.views) > summary", { hasText: name });
    await chip.waitFor();
    await page.goto(`${fixture.url}/folders`);
    await click("#list details:has(.views) > summary");
    await click(`.views a:has-text("${name}")`);
    await chip.waitFor();
    assert.equal(await page.locator("table.one-line tbody tr").count(), 1);
    await click("#list details:has(.views) > summary");
    await click(`.views button[aria-label*="${name}"]`);
    await click(".toast form button");
    await chip.waitFor();
    await click("#list details:has(.views) > summary");
    await click(`.views button[aria-label*="${name}"]`);
    await chip.waitFor({ state: "detached" });
  });
}
