// Lists: sorting, columns, filters, saved views, editing in place, changes of many records; adding records
// inside a folder.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PHONE, assertAccessible, assertFitsWidth } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

const rows = (page) => page.locator("table.list tbody tr");
const references = (page) => page.locator("table.list td.ref").allTextContents();

test("a list is sorted by any column, shows the chosen columns and opens a record by its row", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders`);
  const height = await rows(page)
    .first()
    .evaluate((row) => row.getBoundingClientRect().height);
  assert(height <= 37, `a row is ${height} px high`);
  for (const heading of ["Client", "Owner", "Status", "Budget used", "Reference"]) {
    await page.getByRole("columnheader", { name: heading }).getByRole("link").click();
    await page.locator(`th[aria-sort]`, { hasText: heading }).waitFor();
  }
  assert.equal((await references(page))[0], "F-000001");
  await page.getByRole("columnheader", { name: "Client" }).getByRole("link").click();
  await page.locator("th[aria-sort]", { hasText: "Client" }).waitFor();
  // Folded text, and records without a client last.
  assert.deepEqual((await references(page)).slice(0, 3), ["F-000003", "F-000002", "F-000001"]);
  await page.getByText("Columns", { exact: true }).click();
  await assertAccessible(page, "the menu of columns");
  await page.getByRole("checkbox", { name: "Tags" }).check();
  await page.getByRole("checkbox", { name: "Owner" }).uncheck();
  await page.getByRole("button", { name: "Show these columns" }).click();
  await page.getByRole("columnheader", { name: "Tags" }).waitFor();
  assert.equal(await page.getByRole("columnheader", { name: "Owner" }).count(), 0);
  // The choice stays.
  await page.goto(`${fixture.url}/folders?q=chene`);
  // The link of the name covers the row.
  await page.getByRole("cell", { name: "boundary, urban" }).click({ force: true });
  await page.waitForURL(/\/folders\/F-000001$/);
  assert.deepEqual(errors, []);
  await context.close();
});

test("headings stay in sight while the list scrolls", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders`);
  await rows(page).last().scrollIntoViewIfNeeded();
  await page.getByRole("columnheader", { name: "Due" }).waitFor();
  const top = await page
    .getByRole("columnheader", { name: "Due" })
    .evaluate((th) => th.getBoundingClientRect().top);
  assert(top >= 0, `the heading is at ${top}`);
  await context.close();
});

test("a client is found while typing, and the list of one client becomes a saved view", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders`);
  await page.getByText("More filters").click();
  await page.getByRole("combobox", { name: "Client" }).pressSequentially("town");
  await page.locator("datalist option[value='Town council']").waitFor({ state: "attached" });
  await page.getByRole("combobox", { name: "Client" }).fill("town COUNCIL");
  await page.keyboard.press("Enter");
  await page.waitForURL(/client=town%20COUNCIL|client=town\+COUNCIL/);
  await page.locator(".active-filter", { hasText: "Client: town COUNCIL" }).waitFor();
  assert.deepEqual(await references(page), ["F-000001"]);
  await page.getByText("Views", { exact: true }).click();
  await page.getByLabel("Save this list as").fill("Town council");
  await page.getByRole("checkbox", { name: "Share with all members" }).check();
  await assertAccessible(page, "the menu of views");
  await page.getByRole("button", { name: "Save view" }).click();
  await page.locator(".toast", { hasText: "View “Town council” saved." }).waitFor();
  await page.getByText("View: Town council").waitFor();
  await page.getByRole("link", { name: "Clear filters" }).click();
  await page.waitForURL((url) => !url.searchParams.has("client"));
  await page.getByText("Views", { exact: true }).click();
  await page.getByRole("link", { name: "Town council shared" }).click();
  await page.locator(".active-filter").waitFor();
  assert.deepEqual(await references(page), ["F-000001"]);
  await page.getByRole("link", { name: "Remove the filter Client: town COUNCIL" }).click();
  await page.waitForURL((url) => !url.searchParams.has("client"));
  await page.getByText("Views", { exact: true }).click();
  await page.getByRole("button", { name: "Delete the view Town council" }).click();
  await page.locator(".toast", { hasText: "deleted" }).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("expenses are filtered by amount, category and billing", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/expenses?min=100`);
  assert.deepEqual(await references(page), ["E-000001"]);
  await page.goto(`${fixture.url}/expenses?max=1,000.00`);
  assert.deepEqual(await references(page), ["E-000002"]);
  await page.goto(`${fixture.url}/expenses?category=labour&billable=no`);
  assert.deepEqual(await references(page), ["E-000001"]);
  await context.close();
});

test("status, person, date and amount are edited in the list", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders?q=ring`);
  await page.evaluate(() => (window.notReloaded = true));
  const row = rows(page).first();
  await row.getByRole("button", { name: "Change Due:" }).click();
  await page.getByLabel("Due date").fill("2026-12-24");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await row.getByText("24 Dec").waitFor();
  await row.getByRole("button", { name: "Change Owner:" }).click();
  await page.locator(".cell-form select:focus").selectOption({ index: 1 });
  await page.keyboard.press("Escape");
  await page.locator(".cell-form").waitFor({ state: "detached" });
  await row.getByRole("button", { name: "Change Status:" }).click();
  await page.locator(".cell-form select").selectOption({ index: 2 });
  await assertAccessible(page, "a list with an open cell");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".cell-form").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => window.notReloaded), true);
  await page.goto(`${fixture.url}/budgets`);
  await rows(page).first().getByRole("button", { name: "Change Amount:" }).click();
  await page.locator(".cell-form input[name=amount]").fill("a lot");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".cell-form .error").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("selected records are changed and deleted together", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders?q=sheet&sort=reference`);
  await rows(page).nth(0).getByRole("checkbox").check();
  await rows(page)
    .nth(2)
    .getByRole("checkbox")
    .click({ modifiers: ["Shift"] });
  await page.getByText("Selected: 3").waitFor();
  await assertAccessible(page, "a list with selected rows");
  await page.locator("#bulk").getByLabel("Due").fill("2026-12-31");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator(".toast", { hasText: "3 folders changed." }).waitFor();
  assert.equal(await rows(page).filter({ hasText: "31 Dec" }).count(), 3);
  await rows(page).nth(0).getByRole("checkbox").check();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("heading", { name: "Delete 1 folder?" }).waitFor();
  await assertAccessible(page, "the confirmation of a bulk delete");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.locator(".toast", { hasText: "1 folder deleted." }).waitFor();
  assert.equal(await page.getByText("F-100000").count(), 0);
  assert.deepEqual(errors, []);
  await context.close();
});

test("records are added inside a folder, with a warning when a budget is exceeded", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000002`);
  await page.evaluate(() => (window.notReloaded = true));
  await page.getByText("Add assignment").click();
  for (const title of ["Set out the axis", "As-built plan"]) {
    await page.getByLabel("Title").fill(title);
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: title }).waitFor();
  }
  assert.equal(await page.evaluate(() => window.notReloaded), true);
  await page.getByText("Add expense").click();
  const form = page.locator(".quick-add[data-kind=expense]");
  await form.getByLabel("Amount").fill("130000");
  await form.getByLabel("Budget").selectOption({ index: 1 });
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await page.locator(".toast", { hasText: "over its limit: 108" }).waitFor();
  await form.getByLabel("Amount").fill("nothing");
  await form.getByRole("button", { name: "Add", exact: true }).click();
  await page.locator(".field.bad [name=unitAmount]").waitFor();
  assert.deepEqual(
    errors.filter((error) => !/status of 400/.test(error)),
    [],
  );
  await context.close();
});

test("lists work in French, on a phone and in the search", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({ locale: "fr-FR", viewport: PHONE });
  for (const path of ["/folders", "/expenses?category=labour", "/budgets", "/assignments"]) {
    await page.goto(`${fixture.url}${path}`);
    await page.getByText("Colonnes", { exact: true }).waitFor();
    await assertFitsWidth(page, path);
    await assertAccessible(page, path);
  }
  assert.deepEqual(errors, []);
  await page.goto(`${fixture.url}/search/hits?q=town`);
  await page.getByRole("option", { name: "Town council" }).first().waitFor();
  await context.close();
});
