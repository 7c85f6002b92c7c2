// Everyday work with records: filter, archive, edit, delete, on a phone and on paper.

import assert from "node:assert/strict";
import { test } from "node:test";
import { PHONE, waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();

test("a list is filtered while typing, and Back restores the previous filter", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders`);
  await page.evaluate(() => (window.notReloaded = true));
  await page.locator("main [name=q]").pressSequentially("chene");
  await page.waitForURL(/\/folders\?q=chene$/);
  await page.locator("main tbody tr").nth(1).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => window.notReloaded), true, "the page was not reloaded");
  assert.equal(await page.locator("main tbody tr").count(), 1);
  await page.locator("main [name=q]").fill("no such folder");
  await page.locator(".empty").waitFor();
  assert.match(await page.locator(".empty").textContent(), /Active, “no such folder”/);
  assert.equal(await page.locator("#count").textContent(), "0");
  await page.goBack();
  await page.waitForURL(/\/folders\?q=chene$/);
  await page.getByRole("link", { name: "Chêne, boundary survey" }).waitFor();
  assert.deepEqual(errors, []);
  await context.close();
});

test("a page past the end of a list leads back to the first", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders?q=sewer&page=9`);
  assert.match(await page.locator(".empty").textContent(), /no page 9/);
  await page.getByRole("link", { name: "Go to the first page" }).click();
  await page.waitForURL(/folders\?q=sewer$/);
  assert.equal(await page.locator("main tbody tr").count(), 50);
  await page.goto(`${fixture.url}/assignments?q=x&person=me&due=week&status=&folder=F-000001`);
  const empty = await page.locator(".empty").textContent();
  for (const filter of ["Open", "“x”", "Assigned to: Me", "Due: Within 7 days", "Folder: F-000001"]) {
    assert(empty.includes(filter), `${filter} in ${empty}`);
  }
  await context.close();
});

test("archiving takes one click and can be undone", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000002`);
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Archive", exact: true }).waitFor();
  assert.equal(await page.getByText("Archived since").count(), 0);
  assert.match(await page.locator(".feed li").first().textContent(), /unarchived folder/);
  assert.deepEqual(errors, []);
  await context.close();
});

test("the second of two concurrent edits sees both versions and can still save", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const other = await context.newPage();
  await page.goto(`${fixture.url}/folders/F-100001/edit`);
  await other.goto(`${fixture.url}/folders/F-100001/edit`);
  await other.locator("[name=clientName]").fill("Water board");
  await other.getByRole("button", { name: "Save" }).click();
  await other.locator(".toast").waitFor();
  await page.locator("[name=clientName]").fill("County");
  await page.getByRole("button", { name: "Save" }).click();
  const row = page.locator(".versions tr.differs", { hasText: "Client" });
  assert.match(await row.locator(".theirs").textContent(), /Water board/);
  assert.match(await row.locator(".mine").textContent(), /County/);
  assert.equal(await page.locator("[name=clientName]").inputValue(), "County");
  await page.getByRole("button", { name: "Save my version" }).click();
  await page.locator(".facts").getByText("County").waitFor();
  // The browser logs the status of the conflict.
  assert.deepEqual(
    errors.filter((error) => !/status of 409/.test(error)),
    [],
  );
  await context.close();
});

test("an invalid field shows its error, and the form keeps its input", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-100002/edit`);
  await page.locator("[name=startDate]").fill("2026-05-02");
  await page.locator("[name=dueDate]").fill("2026-05-01");
  await page.locator("[name=name]").fill("Unsaved name");
  await page.getByRole("button", { name: "Save" }).click();
  const invalid = page.locator("[aria-invalid=true]").first();
  await invalid.waitFor();
  const errorId = await invalid.getAttribute("aria-describedby");
  assert.notEqual(await page.locator(`#${errorId}`).textContent(), "");
  assert.equal(await page.locator("[name=name]").inputValue(), "Unsaved name");
  await context.close();
});

test("deleting requires typing the reference", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-100003`);
  await page.getByRole("link", { name: "Delete" }).click();
  const button = page.getByRole("button", { name: "Delete" });
  assert.equal(await button.isDisabled(), true);
  await page.locator("[name=confirm]").fill("F-100003");
  await button.click();
  await page.waitForURL(/\/folders(\?|$)/);
  assert.equal((await page.goto(`${fixture.url}/folders/F-100003`)).status(), 404);
  assert.deepEqual(
    errors.filter((error) => !/status of 404/.test(error)),
    [],
  );
  await context.close();
});

test("on a phone, navigation is at the bottom, and an expense can be added", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn({
    viewport: PHONE,
    hasTouch: true,
    isMobile: true,
  });
  const bar = await page.locator(".rail").boundingBox();
  assert(bar.y > PHONE.height - 80, "the navigation is at the bottom");
  await page.locator(".rail").getByRole("link", { name: "Expenses" }).tap();
  await page.getByRole("link", { name: "New expense" }).tap();
  await page.locator("[name=folder]").fill("F-000001");
  await page.locator("[name=unitAmount]").fill("12,40");
  await page.getByRole("button", { name: "Create expense" }).tap();
  await page.getByText("12.40").first().waitFor();
  await page.goto(`${fixture.url}/folders/F-000001`);
  await page.getByRole("button", { name: "Show map" }).tap();
  await waitForMap(page);
  await page.locator(".rail").getByRole("link", { name: "Dashboard" }).tap();
  await page.waitForURL(`${fixture.url}/`);
  for (const path of PHONE_PAGES) {
    await page.goto(fixture.url + path);
    const overflowing = await page
      .locator(".table-scroll, .filters, .settings > nav")
      .evaluateAll((elements) =>
        elements
          .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
          .map(({ outerHTML }) => outerHTML),
      );
    assert.deepEqual(overflowing, [], `${path} does not scroll sideways`);
  }
  assert.deepEqual(errors, []);
  await context.close();
});

const PHONE_PAGES = [
  "/folders",
  "/folders/F-000001",
  "/assignments",
  "/expenses",
  "/budgets",
  "/settings/members",
  "/settings/webhooks",
];

test("a printed record shows its status, but no buttons", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/folders/F-000001`);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".head [name=status]").isVisible(), true);
  assert.equal(await page.getByRole("link", { name: "Edit" }).isVisible(), false);
  await context.close();
});

test("times are shown in the user's time zone", async () => {
  const { context, page } = await fixture.openPageLoggedIn({ timezoneId: "Asia/Tokyo" });
  await page.goto(`${fixture.url}/folders/F-000001`);
  const time = page.locator(".feed time").first();
  assert.match(await time.textContent(), /just now|min ago/);
  assert.match(await time.getAttribute("title"), /GMT\+9|JST|Japan/);
  await context.close();
});

test("stored markup is shown as text", async () => {
  const { context, page } = await fixture.openPageLoggedIn();
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  for (const path of ["/folders", "/folders/F-000003", "/folders/F-000003/edit", "/search?q=script", "/"]) {
    await page.goto(fixture.url + path);
    assert.equal(await page.locator("main script, main img").count(), 0, path);
  }
  assert.equal(dialogs, 0);
  await context.close();
});

test("the dashboard starts with what is overdue longest, and its links list the same", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const assignments = [
    { reference: "A-900001", folder: "F-000002", title: "Late", dueDate: "2026-01-05" },
    {
      reference: "A-900002",
      folder: "F-000002",
      title: "Given up",
      dueDate: "2026-01-04",
      status: "Cancelled",
    },
  ];
  const budgets = [
    { reference: "B-900001", folder: "F-000001", name: "Closed", amount: "1", status: "Closed" },
    { reference: "B-900002", folder: "F-000002", name: "Far beyond", amount: "10" },
  ];
  const expenses = [
    { folder: "F-000001", budget: "B-900001", unitAmount: "5", incurredOn: "2026-01-05" },
    { folder: "F-000002", budget: "B-900002", unitAmount: "100", incurredOn: "2026-01-05" },
    {
      folder: "F-000001",
      budget: "B-000001",
      unitAmount: "900",
      incurredOn: "2026-01-05",
      status: "Rejected",
    },
  ];
  for (const [kind, rows] of Object.entries({ assignments, budgets, expenses })) {
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    const file = await fixture.server.writeFile(`${kind}-late.ndjson`, lines);
    await fixture.server.run("import", kind, file, "--workspace", "Demo office");
  }
  await page.goto(fixture.url);
  const overdue = page.locator("section", {
    has: page.getByRole("heading", { name: "Overdue assignments" }),
  });
  const references = await overdue.locator("td.ref").allTextContents();
  assert.deepEqual(references, ["A-900001", "A-000001"]);
  const overspent = page.locator("section", {
    has: page.getByRole("heading", { name: /over ?spent|over budget/i }),
  });
  const mostOverspentFirst = ["B-900002", "B-000001"];
  assert.deepEqual(await overspent.locator("td.ref").allTextContents(), mostOverspentFirst);
  assert.match(await overspent.textContent(), /1,280\.00/, "the rejected expense does not count");
  await overspent.getByRole("link", { name: /View all/ }).click();
  await page.waitForURL(/budgets\?over=open/);
  assert.deepEqual(await page.locator("main td.ref").allTextContents(), mostOverspentFirst);
  assert.deepEqual(errors, []);
  await context.close();
});
