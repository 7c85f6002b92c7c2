// The page of a member, where owners disable and delete accounts, and deleting one's own account.

import assert from "node:assert/strict";
import { test } from "node:test";
import { assertAccessible, logIn } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

const fixture = useFixture();
const PASSWORD = "a password of the crew";

/** Adds a member and opens a page in which they are logged in. */
async function openAsMember(email) {
  const member = ["user", "add", email, "--workspace", "Demo office", "--role", "editor"];
  await fixture.server.run(...member, { input: `${PASSWORD}\n` });
  const { page } = await fixture.openPage();
  await logIn(page, fixture.url, { email, password: PASSWORD });
  return page;
}

test("an owner disables, enables and deletes an account on the page of a member", async () => {
  const crew = await openAsMember("crew@example.test");
  const { page } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/settings/members`);
  await page.getByRole("link", { name: "Crew", exact: true }).click();
  await page.getByRole("heading", { name: "Crew", level: 1 }).waitFor();
  await assertAccessible(page, "member");
  assert(await page.getByLabel("Revoke the API tokens of this account").isChecked());
  await page.getByRole("button", { name: "Disable account" }).click();
  await page.locator(".badge", { hasText: "Disabled" }).waitFor();
  await assertAccessible(page, "disabled member");
  await crew.goto(`${fixture.url}/folders`);
  await crew.locator("[name=email]").fill("crew@example.test");
  await crew.locator("[name=password]").fill(PASSWORD);
  await crew.getByRole("button", { name: "Log in" }).click();
  await crew.getByText("This account is disabled.").waitFor();

  await page.getByRole("button", { name: "Enable account" }).click();
  await page.getByRole("button", { name: "Disable account" }).waitFor();
  await page.getByRole("link", { name: "Delete account" }).click();
  await assertAccessible(page, "delete a member's account");
  await page.getByRole("button", { name: "Delete account" }).click();
  await page.locator(".toast", { hasText: "Account deleted." }).waitFor();
  assert.equal(await page.getByText("crew@example.test").count(), 0);
});

test("a user deletes their own account by typing its address", async () => {
  const page = await openAsMember("second@example.test");
  await page.goto(`${fixture.url}/account`);
  await assertAccessible(page, "account");
  const confirm = page.getByLabel("Type your email address to confirm");
  await confirm.fill("other@example.test");
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.getByText("Is not the address of your account").waitFor();
  await page.getByLabel("Type your email address to confirm").fill("second@example.test");
  await page.getByRole("button", { name: "Delete my account" }).click();
  await page.waitForURL(/\/login$/);
  await page.getByText("Your account was deleted.").waitFor();
  await page.goto(`${fixture.url}/account`);
  await page.waitForURL(/\/login/);
});
