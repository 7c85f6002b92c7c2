// What people do all day: finding, archiving, taking it back, changing what someone else has changed,
// deleting; and the address that says what is seen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { logIn, mapReady, openBrowser, openPage, PHONE } from "./browser.mjs";
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

async function atWork(options) {
  const opened = await openPage(browser, options);
  await logIn(opened.page, program.url, OWNER);
  return opened;
}

test("a list is filtered as one types; the address says so, and Back takes it back", async () => {
  const { context, page, complaints } = await atWork();
  await page.goto(`${program.url}/folders`);
  await page.evaluate(() => (window.stayed = true));
  await page.locator("main [name=q]").pressSequentially("chene");
  await page.waitForURL(/\/folders\?q=chene$/);
  await page.locator("main tbody tr").nth(1).waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => window.stayed), true, "the page was not loaded anew");
  assert.equal(await page.locator("main tbody tr").count(), 1);
  await page.locator("main [name=q]").fill("no such folder");
  await page.locator(".empty").waitFor();
  assert.match(await page.locator(".empty").textContent(), /no such folder/);
  await page.goBack();
  await page.waitForURL(/\/folders\?q=chene$/);
  await page.getByRole("link", { name: "Chêne, boundary survey" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("archiving is one click, with Undo", async () => {
  const { context, page, complaints } = await atWork();
  await page.goto(`${program.url}/folders/F-000002`);
  await page.getByRole("button", { name: "Archive", exact: true }).click();
  await page.locator(".toast").getByRole("button", { name: "Undo" }).click();
  await page.getByRole("button", { name: "Archive", exact: true }).waitFor();
  assert.equal(await page.getByText("Archived since").count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("whoever saves second sees both versions, and loses nothing", async () => {
  const { context, page, complaints } = await atWork();
  const other = await context.newPage();
  await page.goto(`${program.url}/folders/F-100001/edit`);
  await other.goto(`${program.url}/folders/F-100001/edit`);
  await other.locator("[name=clientName]").fill("Water board");
  await other.getByRole("button", { name: "Save" }).click();
  await other.locator(".toast").waitFor();
  await page.locator("[name=clientName]").fill("County");
  await page.getByRole("button", { name: "Save" }).click();
  const row = page.locator(".versions tr.differs", { hasText: "Client" });
  assert.match(await row.locator(".theirs").textContent(), /Water board/);
  assert.match(await row.locator(".mine").textContent(), /County/);
  assert.equal(await page.locator("[name=clientName]").inputValue(), "County");
  await page.getByRole("button", { name: "Save mine" }).click();
  await page.locator(".facts").getByText("County").waitFor();
  // A conflict is answered as one: the browser notes the status, and nothing else.
  assert.deepEqual(
    complaints.filter((one) => !/status of 409/.test(one)),
    [],
  );
  await context.close();
});

test("what is wrong stands beside its field, and what was typed stays", async () => {
  const { context, page } = await atWork();
  await page.goto(`${program.url}/folders/F-100002/edit`);
  await page.locator("[name=startDate]").fill("2026-05-02");
  await page.locator("[name=dueDate]").fill("2026-05-01");
  await page.locator("[name=name]").fill("Kept as typed");
  await page.getByRole("button", { name: "Save" }).click();
  const wrong = page.locator("[aria-invalid=true]");
  await wrong.first().waitFor();
  const told = await wrong.first().getAttribute("aria-describedby");
  assert.notEqual(await page.locator(`#${told}`).textContent(), "");
  assert.equal(await page.locator("[name=name]").inputValue(), "Kept as typed");
  await context.close();
});

test("deleting asks for the reference to be typed", async () => {
  const { context, page, complaints } = await atWork();
  await page.goto(`${program.url}/folders/F-100003`);
  await page.getByRole("link", { name: "Delete" }).click();
  const button = page.getByRole("button", { name: "Delete" });
  assert.equal(await button.isDisabled(), true);
  await page.locator("[name=confirm]").fill("F-100003");
  await button.click();
  await page.waitForURL(/\/folders(\?|$)/);
  assert.equal((await page.goto(`${program.url}/folders/F-100003`)).status(), 404);
  assert.deepEqual(
    complaints.filter((one) => !/status of 404/.test(one)),
    [],
  );
  await context.close();
});

test("on a phone the bar at the bottom leads everywhere, and an expense is entered", async () => {
  const { context, page, complaints } = await atWork({ viewport: PHONE, hasTouch: true, isMobile: true });
  const bar = await page.locator(".rail").boundingBox();
  assert(bar.y > PHONE.height - 80, "the bar is at the bottom");
  await page.locator(".rail").getByRole("link", { name: "Expenses" }).tap();
  await page.getByRole("link", { name: "New expense" }).tap();
  await page.locator("[name=folder]").fill("F-000001");
  // A comma between thousands is not taken for one before decimals.
  await page.locator("[name=unitAmount]").fill("1,240");
  await page.getByRole("button", { name: "Add and look at it" }).tap();
  await page.getByText("with a point, like 1234.50").waitFor();
  await page.locator("[name=unitAmount]").fill("12,40");
  await page.getByRole("button", { name: "Add and look at it" }).tap();
  await page.getByText("12.40").first().waitFor();
  await page.goto(`${program.url}/folders/F-000001`);
  await page.getByRole("button", { name: "Show the map" }).tap();
  await page.locator("#map[data-state=drawn]").waitFor();
  await page.locator(".rail").getByRole("link", { name: "Dashboard" }).tap();
  await page.waitForURL(`${program.url}/`);
  for (const path of PHONE_PAGES) {
    await page.goto(program.url + path);
    const cut = await page
      .locator(".table-scroll, .filters, .settings > nav")
      .evaluateAll((all) =>
        all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.outerHTML),
      );
    assert.deepEqual(cut, [], `${path} is read without moving sideways`);
  }
  // A refused form is answered as one: the browser notes the status, and nothing else.
  assert.deepEqual(
    complaints.filter((one) => !/status of 400/.test(one)),
    [],
  );
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

test("on paper a record has its status", async () => {
  const { context, page } = await atWork();
  await page.goto(`${program.url}/folders/F-000001`);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".head [name=status]").isVisible(), true);
  assert.equal(await page.getByRole("link", { name: "Edit" }).isVisible(), false);
  await context.close();
});

test("a link to the map shows what was looked at, and it is there again without it", async () => {
  const { context, page, complaints } = await atWork();
  await page.goto(`${program.url}/map#map=17/47.6525/2.0845`);
  await mapReady(page);
  await page.locator("#map canvas").click();
  await page.locator(".map-card").waitFor();
  const title = await page.locator(".map-card h2").textContent();
  assert.match(title, /^Parcel /);
  await page.getByRole("checkbox", { name: "Folders" }).uncheck();
  assert.match(page.url(), /#map=17\/47\.6525\/2\.0845&feature=[\w-]+\/\d+&hidden=folders$/);
  const link = page.url();
  await context.close();

  const colleague = await atWork();
  await colleague.page.goto(link);
  await colleague.page.locator(".map-card h2", { hasText: title }).waitFor();
  assert.equal(await colleague.page.getByRole("checkbox", { name: "Folders" }).isChecked(), false);
  await colleague.page.getByRole("button", { name: "Close" }).click();
  assert.doesNotMatch(colleague.page.url(), /feature/);
  // Nothing was moved, and what someone else hides is not remembered.
  await colleague.page.goto(`${program.url}/folders`);
  await colleague.page.goto(`${program.url}/map`);
  await mapReady(colleague.page);
  assert.match(colleague.page.url(), /#map=17\/47\.6525\/2\.0845/);
  assert.equal(await colleague.page.getByRole("checkbox", { name: "Folders" }).isChecked(), true);
  assert.deepEqual([...complaints, ...colleague.complaints], []);
  await colleague.context.close();
});

test("a shape's folder is chosen by its reference and Enter", async () => {
  const { context, page, complaints } = await atWork();
  await page.goto(`${program.url}/map#map=17/47.6525/2.0845`);
  await mapReady(page);
  await page.getByRole("button", { name: "Draw" }).click();
  await page.getByRole("button", { name: "Point" }).click();
  await page.getByRole("button", { name: "Place here" }).click();
  await page.locator("#map-folder").fill("f-000002");
  await page.locator("#map-folder").press("Enter");
  await page.waitForFunction(() => document.querySelector("#map-folder").value.includes(" · Ring road"));
  assert.equal(await page.locator("#map-folder-list").isVisible(), false);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("moments are told in the reader's zone", async () => {
  const { context, page } = await atWork({ timezoneId: "Asia/Tokyo" });
  await page.goto(`${program.url}/folders/F-000001`);
  const time = page.locator(".feed time").first();
  assert.match(await time.textContent(), /just now|min ago/);
  assert.match(await time.getAttribute("title"), /GMT\+9|JST|Japan/);
  await context.close();
});

test("what someone stored as markup is shown as they wrote it", async () => {
  const { context, page } = await atWork();
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  for (const path of ["/folders", "/folders/F-000003", "/folders/F-000003/edit", "/search?q=script", "/"]) {
    await page.goto(program.url + path);
    assert.equal(await page.locator("main script, main img").count(), 0, path);
  }
  assert.equal(dialogs, 0);
  await context.close();
});
