// French and English, and the theme: by the browser, or as the user chose.

import assert from "node:assert/strict";
import { test } from "node:test";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("numbers and dates are in the user's language", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ locale: "fr-FR" });
  await page.goto(`${fixture.url}/budgets/B-000001`);
  const facts = await page.locator(".facts").textContent();
  assert.match(facts, /1\u202f000,00 EUR/);
  assert.match(facts, /1er janv\. 2026/);
  await page.goto(`${fixture.url}/expenses/new?folder=F-000001`);
  await page.locator("[name=unitAmount]").fill("x");
  await page.locator("form[data-warn] button.primary").click();
  await page.getByText("Doit être un nombre, par exemple 1250,00").waitFor();
  await page.locator("[name=unitAmount]").fill("1 250,5");
  await page.locator("form[data-warn] button.primary").click();
  await page.locator(".facts").getByText("1\u202f250,50 EUR").first().waitFor();
  await context.close();
});

test("a user chooses a language and a theme", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto(`${fixture.url}/account`);
  const light = await background();
  await page.locator("[name=language]").selectOption("fr");
  await page.locator("[name=theme]").selectOption("dark");
  await page.locator('form[action="/account/preferences"] button').click();
  await page.locator(".toast", { hasText: "enregistrés" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "fr");
  assert.notEqual(await background(), light);
  await page.goto(`${fixture.url}/nothing-here`);
  assert.equal(await page.locator("html").getAttribute("lang"), "fr");
  await page.goto(`${fixture.url}/account`);
  await page.locator("[name=language]").selectOption("");
  await page.locator("[name=theme]").selectOption("");
  await page.locator('form[action="/account/preferences"] button').click();
  await page.locator(".toast", { hasText: "saved" }).waitFor();
  assert.equal(await background(), light);
  assert.deepEqual(
    errors.filter((error) => !/status of 404/.test(error)),
    [],
  );
  await context.close();
});
