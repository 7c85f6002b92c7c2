// The application in a browser with JavaScript turned off.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OWNER, useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("a wrong password shows an error and keeps the email", async () => {
  const { context, page } = await fixture.openPage({ javaScriptEnabled: false });
  await page.goto(`${fixture.url}/login`);
  await page.locator("[name=email]").fill(OWNER.email);
  await page.locator("[name=password]").fill("not the password");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.locator("[name=email]").inputValue(), OWNER.email);
  await context.close();
});

test("create a folder and a token", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ javaScriptEnabled: false });
  await page.getByRole("link", { name: "Folders" }).first().click();
  await page.getByRole("link", { name: "New folder" }).click();
  await page.locator("[name=name]").fill("Without any script");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "Without any script" }).waitFor();

  await page.getByRole("link", { name: "Settings" }).first().click();
  await page.getByRole("link", { name: "API tokens" }).first().click();
  await page.getByRole("link", { name: "New token" }).click();
  await page.locator("[name=name]").fill("Nightly export");
  await page.getByLabel("READ_FOLDER").check();
  await page.getByRole("button", { name: "Create token" }).click();
  const token = (await page.locator(".secret-panel .secret code").textContent()).trim();
  const response = await fetch(`${fixture.url}/api/public/v1/folders?term=without`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  assert.equal(response.status, 200);
  assert.deepEqual(
    (await response.json()).content.map(({ name }) => name),
    ["Without any script"],
  );
  assert.deepEqual(errors, []);
  await context.close();
});

test("a text explains why there is no map", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ javaScriptEnabled: false });
  for (const path of ["/folders/F-000001", "/map"]) {
    await page.goto(fixture.url + path);
    const text = page.locator("#map noscript p");
    assert.match(await text.textContent(), /^The map needs JavaScript/);
    assert.equal(await text.isVisible(), true, path);
  }
  await context.close();
});

test("filter a list", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ javaScriptEnabled: false });
  await page.goto(`${fixture.url}/folders`);
  await page.locator("main [name=q]").fill("chene");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("link", { name: "Chêne, boundary survey" }).waitFor();
  assert.equal(await page.locator("main tbody tr").count(), 1);
  await context.close();
});
