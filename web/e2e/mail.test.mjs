// Mails that arrive: invitations in both languages, a forgotten password, notices.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertAccessible, logIn } from "./browser.mjs";
import { OWNER, seedWorkspace, useFixture } from "./fixture.mjs";
import { IdentityProvider, logInAtProvider } from "./identity-provider.mjs";
import { MailServer, linkIn } from "./mail-server.mjs";

const mailServer = await MailServer.start();
const idp = await IdentityProvider.start();
const fixture = useFixture({
  settings: {
    ...mailServer.settings,
    ...idp.settings({ WORKSPACE: "Demo office", DOMAINS: "office.test" }),
  },
  prepare: async (server) => {
    idp.register(server.url);
    await seedWorkspace(server);
  },
});
after(() => Promise.all([mailServer.stop(), idp.stop()]));

/** Invites an address and returns the mail. */
async function invite(page, email, button, subject) {
  await page.goto(`${fixture.url}/settings/members`);
  await page.locator("#invite-email").fill(email);
  await page.getByRole("button", { name: button }).click();
  await page.locator(".toast", { hasText: email }).waitFor();
  assert.equal(await page.locator("#link").count(), 0, "the link is only in the mail");
  return mailServer.waitFor(email, subject);
}

test("the mail server is checked", async () => {
  assert.match(await fixture.server.run("check"), /localhost:\d+ accepts mail/);
  await fixture.server.run("check", "--send-test", "operator@example.test");
  const mail = await mailServer.waitFor("operator@example.test", /^Test message/);
  assert(mail.isEncrypted);
  const header = (name) => mail.headers.find(({ key }) => key === name)?.value;
  assert.equal(header("auto-submitted"), "auto-generated");
  assert.match(header("message-id"), /^<.+@example\.test>$/);
});

test("an invitation is accepted from the mail, in English and in French", async () => {
  const english = await fixture.openPageLoggedIn();
  const mail = await invite(
    english.page,
    "crew@example.test",
    "Send invitation",
    /^Invitation to Demo office$/,
  );
  assert.match(mail.text, /invited you to join the workspace Demo office/);
  // The link is not for the user who is logged in.
  await english.page.goto(linkIn(mail));
  await english.page.getByText("This invitation is for crew@example.test").waitFor();
  const crew = await fixture.openPage();
  await crew.page.goto(linkIn(mail));
  await assertAccessible(crew.page, "invitation");
  await crew.page.locator("[name=person]").fill("Field crew");
  await crew.page.locator("[name=password]").fill("plumb line of the crew 71");
  await crew.page.getByRole("button", { name: "Join" }).click();
  await crew.page.locator(".rail").waitFor();
  await crew.page.goto(`${fixture.url}/account`);
  await crew.page.getByText("verified", { exact: true }).waitFor();

  const french = await fixture.openPageLoggedIn({ locale: "fr-FR" });
  const courriel = await invite(
    french.page,
    "equipe@example.test",
    "Envoyer l’invitation",
    /^Invitation à rejoindre Demo office$/,
  );
  assert.match(courriel.text, /vous invite à rejoindre l’espace de travail Demo office/);
  const equipe = await fixture.openPage({ locale: "fr-FR" });
  await equipe.page.goto(linkIn(courriel));
  await equipe.page.locator("[name=person]").fill("Équipe terrain");
  await equipe.page.locator("[name=password]").fill("un mot de passe long");
  await equipe.page.getByRole("button", { name: "Rejoindre" }).click();
  await equipe.page.locator(".rail").waitFor();
  for (const { context, errors } of [english, crew, french, equipe]) {
    assert.deepEqual(errors, []);
    await context.close();
  }
});

test("a forgotten password is set from the mail", async () => {
  const before = await fixture.openPageLoggedIn();
  const { context, page, errors } = await fixture.openPage();
  await page.goto(`${fixture.url}/login`);
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await assertAccessible(page, "forgot password");
  await page.locator("[name=email]").fill(OWNER.email);
  await page.getByRole("button", { name: "Send link" }).click();
  await page.getByText("a message with a link is on its way").waitFor();
  const link = linkIn(await mailServer.waitFor(OWNER.email, /^Set a new password/));
  await page.goto(link);
  assert.equal(page.url(), `${fixture.url}/reset-password`, "the secret is not in the address");
  await assertAccessible(page, "new password");
  await page.locator("[name=password]").fill("another password of the owner");
  await page.getByRole("button", { name: "Set password" }).click();
  await page.locator(".notice", { hasText: "Password changed" }).waitFor();
  await mailServer.waitFor(OWNER.email, /password was changed$/);
  await before.page.goto(`${fixture.url}/folders`);
  assert.match(before.page.url(), /\/login/, "all sessions have ended");
  const owner = { ...OWNER, password: "another password of the owner" };
  await logIn(page, fixture.url, owner);
  const notice = await mailServer.waitFor(OWNER.email, /^New login/);
  assert.match(notice.text, /IP address: 127\.0\.0\.1/);
  assert.match(notice.text, /Browser: Chrome on Linux/);
  assert(!fixture.server.stderr.includes(link.split("/").at(-1)), "the secret is not in the log");
  assert.deepEqual(errors, []);
  await before.context.close();

  // A notice of a new token, in the language that the owner chose.
  await page.goto(`${fixture.url}/account`);
  await page.locator("[name=language]").selectOption("fr");
  await page.locator('form[action="/account/preferences"] button').click();
  await page.locator(".toast").waitFor();
  await page.goto(`${fixture.url}/settings/tokens/new`);
  await page.locator("[name=name]").fill("Export nocturne");
  await page.locator("main form button[type=submit]").click();
  await page.locator(".secret-panel").waitFor();
  const token = await mailServer.waitFor(OWNER.email, /^Nouveau jeton d’API/);
  assert.match(token.text, /Nom : Export nocturne/);
  await context.close();
});

test("a user who has only the company account gets no link for a new password", async () => {
  idp.users.lead = { email: "lead@office.test", email_verified: true, name: "Survey lead" };
  const { context, page } = await fixture.openPage();
  // The pages of the provider load a font from elsewhere.
  await context.route(
    ({ hostname }) => hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
  await page.goto(`${fixture.url}/login`);
  await page.getByRole("link", { name: /Company account/ }).click();
  await logInAtProvider(page, "lead");
  await page.locator(".rail").waitFor();
  for (const email of ["lead@office.test", "crew@example.test"]) {
    await page.goto(`${fixture.url}/forgot-password`);
    await page.locator("[name=email]").fill(email);
    await page.getByRole("button", { name: "Send link" }).click();
    await page.getByText("a message with a link is on its way").waitFor();
  }
  await mailServer.waitFor("crew@example.test", /^Set a new password/);
  const isLink = ({ recipient, subject }) =>
    recipient === "lead@office.test" && /^Set a new password/.test(subject);
  assert(!mailServer.mails.some(isLink));
  await context.close();
});
