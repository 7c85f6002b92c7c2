// Forms keep what was typed, accept numbers as people write them, and save only when told to.

import assert from "node:assert/strict";
import { test } from "node:test";
import { OWNER, useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("a status is saved by Enter or the button, keeps the focus and can be undone", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000002`);
  const status = page.locator(".head select[name=status]");
  const button = page.locator(".head form[data-choice] button");
  assert.equal(await button.isVisible(), false);
  await status.focus();
  await page.keyboard.press("ArrowDown");
  await button.waitFor();
  assert.equal(await page.locator(".toast").count(), 0, "an arrow key saves nothing");
  await page.keyboard.press("Escape");
  await button.waitFor({ state: "hidden" });
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const undo = page.locator(".toast").getByRole("button", { name: "Undo" });
  await undo.waitFor();
  assert.equal(await status.evaluate((element) => element === document.activeElement), true);
  assert.equal(await selectedText(status), "Field work");
  await undo.click();
  await page.locator(".toast", { hasText: "status" }).waitFor();
  assert.equal(await selectedText(status), "Quoted");
  assert.deepEqual(errors, []);
  await context.close();
});

const selectedText = (select) => select.evaluate(({ selectedOptions }) => selectedOptions[0].text);

test("what was typed survives the end of the session", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/new`);
  await page.locator("[name=name]").fill("Typed before the session ended");
  await page.locator("[name=description]").fill("Two\nlines");
  await context.clearCookies();
  await page.getByRole("button", { name: "Create folder" }).click();
  await page.waitForURL(/\/login\?next=/);
  await page.locator("[name=email]").fill(OWNER.email);
  await page.locator("[name=password]").fill(OWNER.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL(/\/folders\/new$/);
  await page.locator(".toast", { hasText: "was kept" }).waitFor();
  assert.equal(await page.locator("[name=name]").inputValue(), "Typed before the session ended");
  assert.equal(await page.locator("[name=description]").inputValue(), "Two\nlines");
  await page.getByRole("button", { name: "Create folder" }).click();
  await page.getByRole("heading", { name: "Typed before the session ended" }).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("leaving a changed form asks first", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000002/edit`);
  const dialogs = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.type());
    void dialog.accept();
  });
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.waitForURL(/F-000002$/);
  assert.deepEqual(dialogs, [], "an unchanged form can be left");
  await page.goto(`${fixture.url}/folders/F-000002/edit`);
  await page.locator("[name=clientName]").pressSequentially(" and sons");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.waitForURL(/F-000002$/);
  assert.deepEqual(dialogs, ["beforeunload"]);
  await context.close();
});

test("amounts are accepted in every common format", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const formats = {
    "1,000.00": "1,000.00",
    "2 000,00": "2,000.00",
    "3.000,50": "3,000.50",
    "1,240": "1,240.00",
  };
  for (const [typed, shown] of Object.entries(formats)) {
    await page.goto(`${fixture.url}/expenses/new?folder=F-000001`);
    await page.locator("[name=unitAmount]").fill(typed);
    await page.getByRole("button", { name: "Create expense" }).click();
    await page.locator(".facts").getByText(`${shown} EUR`).first().waitFor();
  }
  await page.goto(`${fixture.url}/folders/F-100004/edit`);
  await page.locator("details.more summary").click();
  await page.locator("[name=cf_name]").first().fill("area");
  await page.locator("[name=cf_kind]").first().selectOption("number");
  await page.locator("[name=cf_value]").first().fill("1 234,5");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dl.rows").getByText("1234.5").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("all problems of a form are shown at once, each at its own field", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/expenses/new`);
  await page.locator("[name=folder]").fill("no such folder");
  await page.locator("[name=unitAmount]").fill("abc");
  await page.locator("[name=quantity]").fill("1.2.3,4");
  await page.locator("details.more summary").click();
  for (const [index, [name, type, value]] of [
    ["floors", "number", "many"],
    ["heated", "boolean", "perhaps"],
  ].entries()) {
    await page.locator("[name=cf_name]").nth(index).fill(name);
    await page.locator("[name=cf_kind]").nth(index).selectOption(type);
    await page.locator("[name=cf_value]").nth(index).fill(value);
  }
  await page.getByRole("button", { name: "Create expense" }).click();
  await page.locator("[aria-invalid=true]").first().waitFor();
  const invalid = await page
    .locator("[aria-invalid=true]")
    .evaluateAll((fields) => fields.map(({ name, value }) => [name, value]));
  assert.deepEqual(invalid, [
    ["folder", "no such folder"],
    ["unitAmount", "abc"],
    ["quantity", "1.2.3,4"],
    ["cf_value", "many"],
    ["cf_value", "perhaps"],
  ]);
  await context.close();
});

test("a folder is found by a part of its name, and accepted by its name", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/assignments/new`);
  await page.locator("[name=title]").fill("Check the manholes");
  await page.locator("[name=folder]").pressSequentially("sheet 57");
  await page.waitForFunction(() => document.querySelectorAll("#l-folder option").length === 1);
  assert.equal(await page.locator("#l-folder option").getAttribute("value"), "F-100056");
  await page.locator("[name=folder]").fill("sewer NETWORK, sheet 57");
  await page.getByRole("button", { name: "Create assignment" }).click();
  await page.locator(".breadcrumb").getByText("F-100056").waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("a budget is found by its name while the folder is typed in the same form", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/expenses/new`);
  await page.locator("[name=unitAmount]").fill("12");
  await page.locator("[name=budget]").pressSequentially("w");
  await page.waitForFunction(() => document.querySelectorAll("#l-budget option").length === 2);
  await page.locator("[name=folder]").fill("F-000001");
  await page.locator("[name=budget]").fill("");
  await page.locator("[name=budget]").fill("w");
  await page.waitForFunction(() => document.querySelectorAll("#l-budget option").length === 1);
  await page.locator("[name=budget]").fill("no such budget");
  await page.getByRole("button", { name: "Create expense" }).click();
  await page.getByText("No budget of the folder has this reference or name").waitFor();
  await page.locator("[name=budget]").selectOption({ label: "B-000001 Field work" });
  await page.locator("[name=assignment]").selectOption({ label: "A-000002 Plan, 1:500" });
  await page.getByRole("button", { name: "Create expense" }).click();
  await page.locator(".facts").getByText("Field work").waitFor();
  await page.goto(`${fixture.url}/expenses/new`);
  await page.locator("[name=unitAmount]").fill("13");
  await page.locator("[name=folder]").fill("F-000001");
  await page.locator("[name=budget]").fill("field WORK");
  await page.getByRole("button", { name: "Create expense" }).click();
  await page.locator(".facts").getByText("Field work").waitFor();
  assert.equal(errors.length, 1, "the form with the unknown budget is a 400");
  await context.close();
});

test("a removed member cannot be chosen any more", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  const workspace = ["--workspace", "Demo office"];
  await fixture.server.run("user", "add", "leaver@example.test", "--role", "editor", ...workspace, {
    input: "a password for the leaver\n",
  });
  const choices = async () => {
    await page.goto(`${fixture.url}/folders/new`);
    return page.locator("[name=owner] option").allTextContents();
  };
  assert((await choices()).includes("Leaver"));
  await page.goto(`${fixture.url}/settings/members`);
  await page.getByRole("link", { name: /Remove Leaver/i }).click();
  await page.locator("main button[type=submit]").click();
  await page.waitForURL(/settings\/members$/);
  assert(!(await choices()).includes("Leaver"));
  await context.close();
});

test("a role is saved by the button and can be undone", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  const workspace = ["--workspace", "Demo office"];
  await fixture.server.run("user", "add", "helper@example.test", "--role", "viewer", ...workspace, {
    input: "a password for the helper\n",
  });
  await page.goto(`${fixture.url}/settings/members`);
  const role = page.getByLabel(/Helper/).and(page.locator("select"));
  await role.selectOption("editor");
  assert.equal(await page.locator(".toast").count(), 0);
  await page.locator("form[data-choice] button:visible").click();
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.locator(".toast", { hasText: "viewer" }).waitFor();
  assert.equal(await role.inputValue(), "viewer");
  await context.close();
});
