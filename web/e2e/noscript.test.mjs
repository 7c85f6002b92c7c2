// Without any script: logging in, making a folder, making a token.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { logIn, openBrowser, openPage } from "./browser.mjs";
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

test("a wrong password is told beside the form, and what was typed stays", async () => {
  const { context, page } = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(`${program.url}/login`);
  await page.locator("[name=email]").fill(OWNER.email);
  await page.locator("[name=password]").fill("not the password");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  assert.equal(await page.locator("[name=email]").inputValue(), OWNER.email);
  await context.close();
});

test("a folder and a token are made without script", async () => {
  const { context, page, complaints } = await openPage(browser, { javaScriptEnabled: false });
  await logIn(page, program.url, OWNER);
  await page.getByRole("link", { name: "Folders" }).first().click();
  await page.getByRole("link", { name: "New folder" }).click();
  await page.locator("[name=name]").fill("Without any script");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "Without any script" }).waitFor();

  await page.getByRole("link", { name: "Settings" }).first().click();
  await page.getByRole("link", { name: "API Tokens" }).first().click();
  await page.getByRole("link", { name: "New token" }).click();
  await page.locator("[name=name]").fill("Nightly export");
  await page.getByLabel("READ_FOLDER").check();
  await page.getByRole("button", { name: "Make the token" }).click();
  const token = (await page.locator(".once .secret code").textContent()).trim();
  const answer = await fetch(`${program.url}/api/public/v1/folders?term=without`, {
    headers: { Authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    (await answer.json()).content.map(({ name }) => name),
    ["Without any script"],
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

test("where a map would be, it is said why there is none", async () => {
  const { context, page } = await openPage(browser, { javaScriptEnabled: false });
  await logIn(page, program.url, OWNER);
  for (const path of ["/folders/F-000001", "/map"]) {
    await page.goto(program.url + path);
    const words = page.locator("#map noscript p");
    assert.match(await words.textContent(), /^The map needs JavaScript/);
    assert.equal(await words.isVisible(), true, path);
  }
  await context.close();
});

test("filters of a list are a form", async () => {
  const { context, page } = await openPage(browser, { javaScriptEnabled: false });
  await logIn(page, program.url, OWNER);
  await page.goto(`${program.url}/folders`);
  await page.locator("main [name=q]").fill("chene");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.getByRole("link", { name: "Chêne, boundary survey" }).waitFor();
  assert.equal(await page.locator("main tbody tr").count(), 1);
  await context.close();
});
