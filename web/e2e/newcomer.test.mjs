// The whole story of someone new: from the address that the program prints to a token revoked.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { mapReady, openBrowser, openPage } from "./browser.mjs";
import { Program } from "./program.mjs";

let program;
let browser;
let receiver;
/** Deliveries as they came: the body as it was sent, and its headers. */
const deliveries = [];
before(async () => {
  receiver = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      deliveries.push({ body: Buffer.concat(parts), headers: request.headers });
      response.end("noted");
      receiver.emit("delivery");
    });
  });
  await once(receiver.listen(0, "127.0.0.1"), "listening");
  const settings = { WEBHOOKS__ALLOW_HTTP: true, WEBHOOKS__ALLOW_NETWORKS: "127.0.0.1/32" };
  program = await Program.start({ settings });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await program?.stop();
  receiver?.closeAllConnections();
  receiver?.close();
});

test("a newcomer sets up, works, automates, and ends it again", async (t) => {
  const { context, page, complaints } = await openPage(browser);
  let folder;
  let token;

  await t.test("the address that was printed makes the workspace and its owner", async () => {
    const [address] = `${program.said}\n${program.log}`.match(/http:\/\/\S+\/setup\?code=[\w-]+/) ?? [];
    assert(address, program.said);
    await page.goto(address);
    await page.locator("[name=name]").fill("North office");
    await page.locator("[name=person]").fill("Survey lead");
    await page.locator("[name=email]").fill("lead@example.test");
    await page.locator("[name=password]").fill("levels and rods 24");
    await page.getByRole("button", { name: "Make the workspace" }).click();
    await page.locator(".rail").waitFor();
    const again = await context.request.get(address, { maxRedirects: 0 });
    assert.notEqual(again.status(), 200, "it can be done once");
  });

  await t.test("the empty workspace says what to do first", async () => {
    await page.goto(`${program.url}/folders`);
    await page.locator(".empty").getByRole("link", { name: "New folder" }).click();
    await page.locator("[name=name]").fill("Chêne, boundary survey");
    await page.locator("[name=clientName]").fill("Town council");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Chêne, boundary survey" }).waitFor();
    folder = new URL(page.url()).pathname;
  });

  await t.test("a budget, and an expense against it", async () => {
    await page.getByRole("link", { name: "Add budget" }).click();
    await page.locator("[name=name]").fill("Field work");
    await page.locator("[name=amount]").fill("1000");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Field work" }).waitFor();
    await page.goto(program.url + folder);
    await page.getByRole("link", { name: "Add expenses" }).click();
    await page.locator("[name=unitAmount]").fill("1080.50");
    await page.locator("[name=budget]").selectOption({ index: 1 });
    await page.getByRole("button", { name: "Add and look at it" }).click();
    await page.goto(program.url + folder);
    await page.locator("svg.chart.over").waitFor();
    assert.match(await page.locator("svg.chart").textContent(), /1,080\.50 EUR/);
  });

  await t.test("a parcel is drawn on the map and belongs to the folder", async () => {
    await page.goto(`${program.url}/map#map=17/47.6528/2.0841`);
    await mapReady(page);
    await page.getByRole("button", { name: "Draw" }).click();
    await page.getByRole("button", { name: "Area" }).click();
    for (const [x, y] of [
      [600, 300],
      [800, 300],
      [800, 500],
      [600, 500],
    ]) {
      await page.mouse.move(x, y, { steps: 3 });
      await page.mouse.down();
      await page.mouse.up();
    }
    await page.getByRole("button", { name: "Finish" }).click();
    await page.locator("#map-folder").fill("chene");
    await page.getByRole("option", { name: /Chêne/ }).click();
    await page.locator("#map-name").fill("Parcel AB 12");
    await page.getByRole("button", { name: "Save" }).click();
    // The first shape makes the layer it is in, and the page comes anew with it.
    await page.getByText("Submissions").waitFor();
    await page.goto(program.url + folder);
    await mapReady(page);
    assert.match(await page.locator("main").textContent(), /1 shape|1 geometry/);
  });

  await t.test("a token is made, and the API answers to it", async () => {
    await page.goto(`${program.url}/settings`);
    await page.getByRole("link", { name: "API Tokens" }).first().click();
    await page.getByRole("link", { name: "New token" }).first().click();
    await page.locator("[name=name]").fill("Nightly export");
    await page.getByLabel("READ_FOLDER").check();
    await page.getByRole("button", { name: "Make the token" }).click();
    token = (await page.locator(".once .secret code").textContent()).trim();
    assert.match(token, /^svc_[0-9a-f]{48}$/);
    assert.match(await page.locator(".once pre").textContent(), new RegExp(token));
    const { status, body } = await ask("folders");
    assert.equal(status, 200);
    assert.deepEqual(
      body.content.map(({ name }) => name),
      ["Chêne, boundary survey"],
    );
    assert.notEqual(body.content[0].bbox, null, "the parcel is in the folder's box");
    await page.goto(`${program.url}/settings/tokens`);
    assert.equal(await page.getByText(token).count(), 0, "it is shown once");
  });

  await t.test("a webhook is told of the next change, and its delivery is seen", async () => {
    await page.goto(`${program.url}/settings/webhooks`);
    await page.locator(".empty").getByRole("link", { name: "Make an endpoint" }).click();
    await page.locator("[name=url]").fill(`http://127.0.0.1:${receiver.address().port}/hook`);
    await page.getByRole("button", { name: "Create" }).click();
    const secret = (await page.locator(".once .secret code").textContent()).trim();
    const endpoint = page.url();
    const signed = ({ body, headers }) => {
      const digest = createHmac("sha256", secret).update(body).digest("hex");
      assert.equal(headers["x-service-signature"], `sha256=${digest}`);
      return JSON.parse(body);
    };
    // The command beside the secret works as it is.
    await promisify(execFile)("sh", ["-c", await page.locator(".once pre").textContent()]);
    assert.equal(signed(deliveries.pop()).data.name, "Sample folder");
    await page.goto(`${program.url}${folder}/edit`);
    await page.locator("[name=clientName]").fill("Town council, roads");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Town council, roads").first().waitFor();
    if (deliveries.length === 0) await once(receiver, "delivery");
    const { event, data } = signed(deliveries[0]);
    assert.deepEqual([event, data.clientName], ["folder.updated", "Town council, roads"]);
    await page.goto(endpoint);
    await page.getByRole("link", { name: "folder.updated" }).first().click();
    await page.getByText("noted").waitFor();
  });

  await t.test("the token is revoked, and refused at once", async () => {
    await page.goto(`${program.url}/settings/tokens`);
    await page.getByRole("link", { name: "Revoke Nightly export" }).click();
    await page.getByRole("button", { name: /Revoke/ }).click();
    await page.locator(".toast").waitFor();
    assert.equal((await ask("folders")).status, 401);
  });

  assert.deepEqual(complaints, []);
  await context.close();

  async function ask(path) {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch(`${program.url}/api/public/v1/${path}`, { headers });
    return { status: answer.status, body: await answer.json() };
  }
});
