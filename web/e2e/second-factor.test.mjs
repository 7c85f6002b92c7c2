// Authenticator apps, recovery codes, passkeys, and the workspace that requires them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret, TOTP } from "otpauth";
import { assertAccessible, assertFitsWidth, logIn, PHONE } from "./browser.mjs";
import { OWNER, useFixture } from "./fixture.mjs";

// Browsers offer passkeys only for host names.
const fixture = useFixture({ host: "localhost" });

/** The code of a step, made by another library. `offset` counts steps from now. */
function code(secret, offset = 0) {
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  return totp.generate({ timestamp: Date.now() + offset * 30_000 });
}

async function logOut(page) {
  await page.goto(`${fixture.url}/account`);
  await page
    .locator('form[action="/logout"] button')
    .first()
    .evaluate((button) => button.click());
  await page.waitForURL(/\/login/);
}

async function enterPassword(page) {
  await page.goto(`${fixture.url}/login`);
  await page.locator("[name=email]").fill(OWNER.email);
  await page.locator("[name=password]").fill(OWNER.password);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
}

async function setUpApp(page) {
  await page.goto(`${fixture.url}/account/security`);
  await page.getByRole("link", { name: "Set up" }).click();
  await page.locator("svg.qr").waitFor();
  await assertAccessible(page, "authenticator app");
  const secret = await page.locator("[name=secret]").inputValue();
  // Wrong codes keep the secret that was scanned.
  await page.locator("[name=code]").fill("000000");
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("The code is incorrect").waitFor();
  assert.equal(await page.locator("[name=secret]").inputValue(), secret);
  await page.locator("[name=code]").fill(code(secret, -1));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("Save your recovery codes").waitFor();
  const recoveryCodes = await page.locator(".codes code").allTextContents();
  assert.equal(recoveryCodes.length, 10);
  return { secret, recoveryCodes };
}

test("logins ask for the code of the app, or for a recovery code", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const { secret, recoveryCodes } = await setUpApp(page);
  await assertAccessible(page, "recovery codes");
  await page.reload();
  assert.equal(await page.locator(".codes").count(), 0, "codes are shown once");
  await logOut(page);

  await enterPassword(page);
  await page.getByRole("heading", { name: "Two-step login" }).waitFor();
  await assertAccessible(page, "second factor");
  await page.goto(`${fixture.url}/folders`);
  assert.match(page.url(), /\/login\?/, "the password alone opens nothing");
  await page.goto(`${fixture.url}/login/second-factor`);
  const current = code(secret);
  await page.locator("[name=code]").fill("123");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByText("The code is incorrect or was already used").waitFor();
  await page.locator("[name=code]").fill(current);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.locator(".rail").waitFor();
  await logOut(page);

  await enterPassword(page);
  await page.locator("[name=code]").fill(current);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByText("was already used").waitFor();
  await page.locator("[name=code]").fill(recoveryCodes[0].toUpperCase().replaceAll("-", " "));
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.locator(".rail").waitFor();
  await page.goto(`${fixture.url}/account/security`);
  await page.getByText("9 unused codes are left").waitFor();

  // The operator helps a user who lost everything.
  await fixture.server.run("user", "reset-factors", OWNER.email);
  await page.goto(`${fixture.url}/folders`);
  assert.match(page.url(), /\/login/, "all sessions have ended");
  await logIn(page, fixture.url, OWNER);
  await page.locator(".rail").waitFor();
  assert.deepEqual(
    errors.filter((error) => !error.includes("400")),
    [],
  );
  await context.close();
});

test("a passkey logs in without a password", async () => {
  const { context, page, errors } = await fixture.openPageLoggedIn();
  const client = await context.newCDPSession(page);
  await client.send("WebAuthn.enable");
  await client.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  await page.goto(`${fixture.url}/account/security`);
  await page.getByLabel("Name of the passkey").fill("Office laptop");
  await page.getByRole("button", { name: "Add passkey" }).click();
  await page.getByText("Passkey added").waitFor();
  await page.getByRole("cell", { name: "Office laptop", exact: true }).waitFor();
  await assertAccessible(page, "passkeys");
  await logOut(page);

  await page.getByRole("button", { name: "Log in with a passkey" }).click();
  await page.locator(".rail").waitFor();
  await logOut(page);

  // After the password, the passkey is the second step.
  await enterPassword(page);
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.locator(".rail").waitFor();

  // Confirming a login needs the second step, too.
  await page.goto(`${fixture.url}/login/confirm?next=/settings/tokens/new`);
  await assertAccessible(page, "confirm the login");
  await page.getByLabel("Password").fill(OWNER.password);
  await page.getByLabel("Recovery code").fill("not a recovery code");
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("The password or the code is incorrect.").waitFor();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.waitForURL(/\/settings\/tokens\/new$/);

  await page.goto(`${fixture.url}/account/security`);
  await page.getByRole("button", { name: "Remove password" }).click();
  await page.getByText("Password removed").waitFor();
  await page.getByRole("button", { name: "Remove the passkey Office laptop" }).click();
  await page.getByText("you could no longer log in").waitFor();
  await logOut(page);
  await enterPassword(page);
  await page.getByText("The email address or the password is incorrect").waitFor();
  await page.getByRole("button", { name: "Log in with a passkey" }).click();
  await page.locator(".rail").waitFor();
  assert.deepEqual(
    errors.filter((error) => !error.includes("400")),
    [],
  );
  await context.close();
});

test("a workspace requires a second factor of its members", async () => {
  await fixture.server.run("user", "reset-factors", OWNER.email);
  await fixture.server.run("user", "password", OWNER.email, { input: `${OWNER.password}\n` });
  const { context, page, errors } = await fixture.openPageLoggedIn();
  await page.goto(`${fixture.url}/settings/workspace`);
  await page.getByLabel("Require two-step login").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("log in with a second factor yourself").waitFor();
  await setUpApp(page);
  await page.goto(`${fixture.url}/settings/workspace`);
  await page.getByLabel("Require two-step login").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".toast").waitFor();

  const crew = ["crew@example.test", "a password of the field crew"];
  await fixture.server.run("user", "add", crew[0], "--workspace", "Demo office", "--role", "editor", {
    input: `${crew[1]}\n`,
  });
  const member = await fixture.openPage({ locale: "fr-FR", viewport: PHONE });
  await member.page.goto(`${fixture.url}/login`);
  await member.page.locator("[name=email]").fill(crew[0]);
  await member.page.locator("[name=password]").fill(crew[1]);
  await member.page.getByRole("button", { name: "Se connecter", exact: true }).click();
  await member.page.getByText("exige la connexion en deux étapes").waitFor();
  await assertFitsWidth(member.page, "login and security on a phone");
  await assertAccessible(member.page, "login and security in French");
  await member.page.goto(`${fixture.url}/folders`);
  assert.match(member.page.url(), /\/account\/security/, "no page of the workspace opens");
  await member.page.getByRole("link", { name: "Configurer" }).click();
  const secret = await member.page.locator("[name=secret]").inputValue();
  await assertFitsWidth(member.page, "authenticator app on a phone");
  await member.page.locator("[name=code]").fill(code(secret));
  await member.page.getByRole("button", { name: "Activer" }).click();
  await member.page.getByText("Enregistrez vos codes de secours").waitFor();
  await member.page.goto(`${fixture.url}/folders`);
  await member.page.getByText("Sewer network, sheet 1").first().waitFor();
  assert.deepEqual(
    [...errors, ...member.errors].filter((error) => !error.includes("400")),
    [],
  );
  await member.context.close();
  await context.close();
});
