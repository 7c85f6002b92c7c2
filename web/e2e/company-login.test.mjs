// Logging in with an account of an identity provider.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Secret, TOTP } from "otpauth";
import { assertAccessible, logIn } from "./browser.mjs";
import { OWNER, seedWorkspace, useFixture } from "./fixture.mjs";
import { IdentityProvider, logInAtProvider } from "./identity-provider.mjs";

const idp = await IdentityProvider.start();
const fixture = useFixture({
  settings: idp.settings({
    WORKSPACE: "Demo office",
    GROUPS: "field=editor,gis-admins=admin",
  }),
  prepare: async (server) => {
    idp.register(server.url);
    await seedWorkspace(server);
  },
});
after(() => idp.stop());

/** Opens a page. The pages of the provider load a font from elsewhere, which is not needed. */
async function openPage(options) {
  const opened = await fixture.openPage(options);
  await opened.context.route(
    ({ hostname }) => hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
  const ownErrors = () => opened.errors.filter((error) => !error.startsWith(idp.issuer));
  return { ...opened, ownErrors };
}

/** Logs in with the provider in a browser of its own. */
async function logInWithCompany(user, options) {
  const opened = await openPage(options);
  await opened.page.goto(`${fixture.url}/login`);
  await opened.page.getByRole("link", { name: /Company account/ }).click();
  await logInAtProvider(opened.page, user);
  return opened;
}

test("a member of a group joins with its role, and the provider changes it later", async () => {
  idp.users.crew = {
    email: "crew@example.test",
    email_verified: true,
    name: "Field crew",
    groups: ["field"],
  };
  const first = await logInWithCompany("crew");
  await first.page.locator(".rail").waitFor();
  await first.page.goto(`${fixture.url}/settings/members`);
  const row = first.page.locator("tr", { hasText: "crew@example.test" });
  await row.getByText("Editor").waitFor();
  await row.getByText("Field crew").first().waitFor();
  await first.page.goto(`${fixture.url}/account`);
  await first.page.getByText("verified", { exact: true }).waitFor();
  await first.page.getByText("You log in without a password").waitFor();
  await first.context.close();

  idp.users.crew.groups = ["gis-admins", "field"];
  const second = await logInWithCompany("crew");
  await second.page.locator(".rail").waitFor();
  await second.page.goto(`${fixture.url}/settings/statuses`);
  await second.page.getByRole("heading", { name: "Statuses" }).waitFor();
  const log = await fixture.server.run("security-log", "--json");
  assert.match(log, /"action":"member\.updated"/);

  // Logging out leads to the page that ends the session of the provider, too.
  await second.page.goto(`${fixture.url}/account`);
  await second.page
    .locator('form[action="/logout"] button')
    .first()
    .evaluate((button) => button.click());
  await second.page.getByText("You may still be logged in at Company account").waitFor();
  await assertAccessible(second.page, "login after logging out");
  const link = second.page.getByRole("link", { name: "Log out at Company account" });
  assert.match(await link.getAttribute("href"), /session\/end\?client_id=groma/);
  assert.deepEqual([...first.ownErrors(), ...second.ownErrors()], []);
  await second.context.close();
});

test("a member keeps the role when the provider does not name the groups", async () => {
  const failedLogin = async () => {
    const { context, page } = await logInWithCompany("crew");
    await page.getByText("Company account").first().waitFor();
    assert.equal(await page.locator(".rail").count(), 0, "the login has failed");
    await context.close();
  };
  idp.isFailing = true;
  await failedLogin();
  idp.isFailing = false;

  // Some providers name another place for the groups if there are many.
  const { groups, ...crew } = idp.users.crew;
  idp.users.crew = {
    ...crew,
    _claim_names: { groups: "elsewhere" },
    _claim_sources: { elsewhere: { endpoint: "https://groups.example.test" } },
  };
  await failedLogin();
  idp.users.crew = { ...crew, groups };
  assert.doesNotMatch(await fixture.server.run("security-log", "--json"), /member\.removed/);

  const again = await logInWithCompany("crew");
  await again.page.goto(`${fixture.url}/settings/statuses`);
  await again.page.getByRole("heading", { name: "Statuses" }).waitFor();
  await again.context.close();
});

test("users outside the groups and without a verified address have no access", async () => {
  idp.users.guest = { email: "guest@example.test", email_verified: true, groups: ["guests"] };
  const guest = await logInWithCompany("guest");
  await guest.page.getByText("has no access yet").waitFor();
  await guest.context.close();

  idp.users.unverified = { email: "new@example.test", email_verified: false, groups: ["field"] };
  const unverified = await logInWithCompany("unverified", { locale: "fr-FR" });
  await unverified.page.getByText("n’a pas confirmé votre adresse e-mail").waitFor();
  await unverified.context.close();
});

test("an account with a password is connected by its own login only", async () => {
  idp.users.owner = { email: OWNER.email, email_verified: true, groups: ["field"] };
  const { context, page, ownErrors } = await logInWithCompany("owner");
  await page.getByText("An account with your email address already exists").waitFor();
  const log = await fixture.server.run("security-log", "--user", OWNER.email, "--json");
  assert.match(log, /"action":"login\.failed"[^\n]*"reason":"notConnected"/);
  await logIn(page, fixture.url, OWNER);
  await page.goto(`${fixture.url}/account/security`);
  await assertAccessible(page, "login and security");
  await page.getByRole("button", { name: "Connect Company account" }).click();
  await page.getByText("Company account connected").waitFor();
  await page.getByRole("cell", { name: OWNER.email, exact: true }).waitFor();
  await context.close();

  const again = await logInWithCompany("owner");
  await again.page.locator(".rail").waitFor();
  await again.page.goto(`${fixture.url}/settings/members`);
  await again.page.locator("tr", { hasText: OWNER.email }).getByText("Owner").first().waitFor();
  await again.page.goto(`${fixture.url}/account/security`);
  await again.page.getByRole("button", { name: "Disconnect Company account" }).click();
  await again.page.getByText("Company account disconnected").waitFor();
  const errors = [...ownErrors(), ...again.ownErrors()];
  assert.deepEqual(
    errors.filter((error) => !error.includes("400")),
    [],
  );
  await again.context.close();
});

test("an invitation is accepted with the company account", async () => {
  const owner = await fixture.openPageLoggedIn();
  await owner.page.goto(`${fixture.url}/settings/members`);
  await owner.page.locator("#invite-email").fill("partner@example.test");
  await owner.page.getByRole("button", { name: "Create link" }).click();
  const link = await owner.page.locator("#link").textContent();
  await owner.context.close();

  idp.users.partner = { email: "partner@example.test", email_verified: true, name: "Partner office" };
  const { context, page, ownErrors } = await openPage();
  await page.goto(link.trim());
  await page.getByRole("link", { name: "Continue with Company account" }).click();
  await logInAtProvider(page, "partner");
  await page.locator(".rail").waitFor();
  assert.deepEqual(ownErrors(), []);
  await context.close();
});

test("confirming a login with the company account asks for the second step, too", async () => {
  idp.users.lead = {
    email: "lead@example.test",
    email_verified: true,
    name: "Survey lead",
    groups: ["field"],
  };
  const { context, page, ownErrors } = await logInWithCompany("lead");
  await page.locator(".rail").waitFor();
  await page.goto(`${fixture.url}/account/authenticator`);
  const totp = new TOTP({ secret: Secret.fromBase32(await page.locator("[name=secret]").inputValue()) });
  await page.locator("[name=code]").fill(totp.generate({ timestamp: Date.now() - 30_000 }));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("Save your recovery codes").waitFor();

  await page.goto(`${fixture.url}/login/confirm?next=/settings/tokens/new`);
  await page.getByRole("link", { name: /Company account/ }).click();
  await logInAtProvider(page, "lead", { hasConsented: true });
  await page.getByRole("heading", { name: "Two-step login" }).waitFor();
  await page.locator("[name=code]").fill(totp.generate());
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.waitForURL(/\/settings\/tokens\/new$/);
  assert.deepEqual(ownErrors(), []);
  await context.close();
});

test("an answer that this browser did not ask for is rejected", async () => {
  const { context, page } = await fixture.openPage();
  await page.goto(`${fixture.url}/login/with/company/callback?code=x&state=y`);
  await page.getByText("was started in another browser").waitFor();
  assert.equal(await page.locator(".rail").count(), 0);
  await context.close();
});

test("a provider that is down is named, and other logins work", async () => {
  await idp.stop();
  const { context, page } = await fixture.openPage();
  await logIn(page, fixture.url, OWNER);
  await page.locator(".rail").waitFor();
  const problem = await fixture.server.run("check").catch((error) => error.message);
  assert.match(problem, /oidc\.company: the identity provider/);
  await context.close();
});
