// The API documentation, the charts of the dashboard, grouped activity and the layout on wide screens and
// tablets.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, assertFitsWidth, DESKTOP, PHONE, TABLET } from "./browser.mjs";
import { OWNER, useFixture } from "./fixture.mjs";

const fixture = useFixture();
const WIDE = { width: 1920, height: 1080 };

test("the API documentation is accessible in both themes and languages", async () => {
  for (const [locale, title] of [
    ["en-GB", "API documentation"],
    ["fr-FR", "Documentation de l’API"],
  ]) {
    const { context, page, errors } = await fixture.openPage({ locale });
    await page.goto(`${fixture.url}/docs/`);
    assert.equal(await page.locator("h1").textContent(), title);
    await assertAccessible(page, `/docs/, ${locale}`);
    await page.emulateMedia({ colorScheme: "dark" });
    await assertAccessible(page, `/docs/, ${locale}, dark`, ["color-contrast"]);
    for (const size of [PHONE, TABLET, WIDE]) {
      await page.setViewportSize(size);
      await assertFitsWidth(page, `/docs/, ${size.width} px`);
    }
    assert.deepEqual(errors, []);
    await context.close();
  }
});

test("the documentation leads from an operation to its schema and copies the example", async () => {
  const { context, page } = await fixture.openPage({ permissions: ["clipboard-read", "clipboard-write"] });
  await page.goto(`${fixture.url}/docs/`);
  await page.getByRole("navigation").getByRole("link", { name: "List folders" }).click();
  const operation = page.locator("#listFolders");
  assert.match(await operation.textContent(), /READ_FOLDER/);
  await operation.getByRole("button", { name: "Copy command" }).click();
  await operation.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(command, /^curl [^]*Bearer \$TOKEN[^]*\/api\/public\/v1\/folders"$/);
  await operation.getByRole("link", { name: "Envelope_Folder" }).click();
  assert.equal(new URL(page.url()).hash, "#schema-Envelope_Folder");
  await context.close();
});

test("the documentation is complete without scripts", async () => {
  const { context, page } = await fixture.openPage({ javaScriptEnabled: false });
  await page.goto(`${fixture.url}/docs/`);
  const paths = Object.values(
    (await (await fetch(`${fixture.url}/api/public/v1/openapi.json`)).json()).paths,
  );
  const methods = new Set(["get", "post", "patch", "delete"]);
  const operations = paths.flatMap(Object.keys).filter((key) => methods.has(key));
  assert.ok(operations.length > 40);
  assert.equal(await page.locator("article .route").count(), operations.length);
  await context.close();
});

test("the charts of the dashboard show the figures of the workspace", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const workspace = ["--workspace", "Demo office"];
  const assignments = [
    { reference: "A-000003", folder: "F-000001", title: "Done", status: "Done", dueDate: monthsAgo(1) },
    { reference: "A-000004", folder: "F-000001", title: "Done", status: "Done", dueDate: monthsAgo(2) },
  ].map((row, index) => ({ ...row, estimatedHours: `${10 + index}`, spentHours: "12.5" }));
  const lines = assignments.map((row) => `${JSON.stringify(row)}\n`).join("");
  const file = await fixture.server.writeFile("done.ndjson", lines);
  await fixture.server.run("import", "assignments", file, ...workspace);
  await page.goto(fixture.url);
  const rows = (id) =>
    page.locator(`#${id} tbody tr`).evaluateAll((trs) => trs.map((tr) => tr.innerText.split(/\s*[\t\n]\s*/)));
  const workload = await rows("workload");
  assert.deepEqual(
    workload.map((cells) => cells.slice(1)),
    [
      ["1", "1", "12"],
      ["1", "0", "0"],
    ],
  );
  const [budget] = await rows("burn");
  assert.equal(budget[0], "Field work");
  assert.match(budget.join(" "), /1,280\.00 of 1,000\.00 EUR.* 128%/);
  const chart = page.getByRole("img", { name: "Hours by month" });
  assert.equal(await chart.locator("rect").count(), 4);
  await page.locator("#hours summary").click();
  const hours = await rows("hours");
  assert.deepEqual(
    hours.map((cells) => cells.slice(1)),
    [
      ["11", "12.5"],
      ["10", "12.5"],
    ],
  );
  await assertAccessible(page, "dashboard");
  for (const size of [PHONE, TABLET, DESKTOP, WIDE]) {
    await page.setViewportSize(size);
    await assertFitsWidth(page, `dashboard, ${size.width} px`);
  }
  assert.deepEqual(errors, []);
  await context.close();
});

test("changes of one person in one folder are one line that opens", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  for (const amount of ["10", "20"]) {
    await page.goto(`${fixture.url}/expenses/new?folder=F-000002`);
    await page.locator("[name=description]").fill("Paint");
    await page.locator("[name=unitAmount]").fill(amount);
    await page.getByRole("button", { name: "Create expense" }).click();
    await page.locator(".facts").waitFor();
  }
  await page.goto(fixture.url);
  const group = page.locator(".feed details").first();
  assert.match(
    await group.locator("summary").textContent(),
    /in folder F-000002: added 2 expenses\s+2 changes/,
  );
  const entry = group.locator("li").first();
  assert.equal(await entry.isVisible(), false);
  await group.locator("summary").press("Enter");
  assert.match(await entry.textContent(), /created expense E-/);
  await assertAccessible(page, "dashboard with an open group");
  await page.goto(`${fixture.url}/settings/activity`);
  await page.locator(".feed details summary").first().waitFor();
  await context.close();
});

test("the navigation folds on a tablet, and a wide screen is used", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ viewport: TABLET });
  const folders = page.locator(".rail").getByRole("link", { name: /Folders/ });
  assert((await page.locator(".rail").boundingBox()).width < 80);
  await assertAccessible(page, "dashboard, tablet");
  await page.locator(".rail summary").click();
  await assertFitsWidth(page, "open menu, tablet");
  await page.locator(".rail summary").click();
  await folders.click();
  await page.waitForURL(/\/folders$/);
  await page.setViewportSize(WIDE);
  const main = await page.locator("main").boundingBox();
  assert(main.x + main.width > 1880, `the content ends at ${main.x + main.width}`);
  await context.close();
});

test("settings open with the workspace, and members can change their name", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/settings`);
  assert.equal(new URL(page.url()).pathname, "/settings/workspace");
  await page.goto(`${fixture.url}/account`);
  await page.locator("[name=name]").fill("  ");
  await page.locator("form[action='/account/name']").evaluate((form) => {
    form.noValidate = true;
    form.requestSubmit();
  });
  await page.locator("#e-name").waitFor();
  await page.locator("[name=name]").fill("Survey lead");
  await page.locator("form[action='/account/name'] button").click();
  await page.getByText("Name saved.").waitFor();
  await page.goto(`${fixture.url}/folders/F-000001`);
  assert.match(await page.locator("main").textContent(), /Survey lead/, OWNER.email);
  await context.close();
});

/** A day in an earlier month. */
function monthsAgo(count) {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 5)).toISOString().slice(0, 10);
}
