// From the first start to a revoked token: setup, records, the map, the API and webhooks.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { waitForMap } from "./browser.mjs";
import { useFixture } from "./fixture.mjs";

/** The body and headers of each delivery. */
const deliveries = [];
const receiver = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    deliveries.push({ body: Buffer.concat(chunks), headers: request.headers });
    response.end("received");
    receiver.emit("delivery");
  });
});
before(() => once(receiver.listen(0, "127.0.0.1"), "listening"));
const fixture = useFixture({
  prepare: async () => {},
  settings: { WEBHOOKS__ALLOW_HTTP: true, WEBHOOKS__ALLOW_NETWORKS: "127.0.0.1/32" },
});
after(() => {
  receiver.closeAllConnections();
  receiver.close();
});

test("a new user sets up, works and automates", async (t) => {
  const { context, page, errors } = await fixture.openPage();
  let folder;
  let token;

  await t.test("the setup link creates the workspace and its owner", async () => {
    const { stdout } = fixture.server;
    const [file] = stdout.match(/\S+setup-link$/m) ?? [];
    assert(file, stdout);
    const setupUrl = readFileSync(file, "utf8").trim();
    await page.goto(setupUrl);
    await page.locator("[name=name]").fill("North office");
    await page.locator("[name=person]").fill("Survey lead");
    await page.locator("[name=email]").fill("lead@example.test");
    await page.locator("[name=password]").fill("levels and rods 24");
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.locator(".rail").waitFor();
    const again = await context.request.get(setupUrl, { maxRedirects: 0 });
    assert.notEqual(again.status(), 200, "the link works only once");
  });

  await t.test("the empty workspace leads to the first folder", async () => {
    await page.goto(`${fixture.url}/folders`);
    await page.locator(".empty").getByRole("link", { name: "New folder" }).click();
    await page.locator("[name=name]").fill("Chêne, boundary survey");
    await page.locator("[name=clientName]").fill("Town council");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Chêne, boundary survey" }).waitFor();
    folder = new URL(page.url()).pathname;
  });

  await t.test("an expense exceeds its budget", async () => {
    await page.getByText("Add budget").click();
    await page.locator("[name=name]").fill("Field work");
    await page.locator("[name=amount]").fill("1000");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Field work" }).waitFor();
    await page.getByText("Add expense").click();
    // The only budget is selected already.
    await page.locator("[name=unitAmount]").fill("1080.50");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "over its limit" }).waitFor();
    await page.locator("svg.chart.over").waitFor();
    assert.match(await page.locator("svg.chart").textContent(), /1,080\.50 EUR/);
  });

  await t.test("a shape is drawn on the map and added to the folder", async () => {
    await page.goto(`${fixture.url}/map#map=17/47.6528/2.0841`);
    await waitForMap(page);
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
    // The first shape creates its layer, and the page reloads to show it.
    await page.locator(".map-layer").getByText("Submissions", { exact: true }).waitFor();
    await page.goto(fixture.url + folder);
    await waitForMap(page);
    assert.match(await page.locator("main").textContent(), /1 shape|1 geometry/);
  });

  await t.test("a new token gives access to the API", async () => {
    await page.goto(`${fixture.url}/settings`);
    await page.getByRole("link", { name: "API tokens" }).first().click();
    await page.getByRole("link", { name: "New token" }).first().click();
    await page.locator("[name=name]").fill("Nightly export");
    await page.getByLabel("READ_FOLDER").check();
    await page.getByRole("button", { name: "Create token" }).click();
    token = (await page.locator(".secret-panel .secret code").textContent()).trim();
    assert.match(token, /^svc_[0-9a-f]{48}$/);
    assert.match(await page.locator(".secret-panel pre").textContent(), new RegExp(token));
    const { status, body } = await get("folders");
    assert.equal(status, 200);
    assert.deepEqual(
      body.content.map(({ name }) => name),
      ["Chêne, boundary survey"],
    );
    assert.notEqual(body.content[0].bbox, null, "the folder's bounding box contains the shape");
    await page.goto(`${fixture.url}/settings/tokens`);
    assert.equal(await page.getByText(token).count(), 0, "the token is shown only once");
  });

  await t.test("a webhook receives a signed event, and the delivery log shows it", async () => {
    await page.goto(`${fixture.url}/settings/webhooks`);
    await page.locator(".empty").getByRole("link", { name: "Create endpoint" }).click();
    await page.locator("[name=url]").fill(`http://127.0.0.1:${receiver.address().port}/hook`);
    await page.getByRole("button", { name: "Create" }).click();
    const secret = (await page.locator(".secret-panel .secret code").textContent()).trim();
    const endpoint = page.url();
    const verify = ({ body, headers }) => {
      const digest = createHmac("sha256", secret).update(body).digest("hex");
      assert.equal(headers["x-service-signature"], `sha256=${digest}`);
      return JSON.parse(body);
    };
    // The command shown beside the secret sends a signed sample.
    await promisify(execFile)("sh", ["-c", await page.locator(".secret-panel pre").textContent()]);
    assert.equal(verify(deliveries.pop()).data.name, "Sample folder");
    await page.goto(`${fixture.url}${folder}/edit`);
    await page.locator("[name=clientName]").fill("Town council, roads");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Town council, roads").first().waitFor();
    if (deliveries.length === 0) await once(receiver, "delivery");
    const { event, data } = verify(deliveries[0]);
    assert.deepEqual([event, data.clientName], ["folder.updated", "Town council, roads"]);
    await page.goto(endpoint);
    await page.getByRole("link", { name: "folder.updated" }).first().click();
    await page.getByText("received").waitFor();
  });

  await t.test("a revoked token is rejected immediately", async () => {
    await page.goto(`${fixture.url}/settings/tokens`);
    await page.getByRole("link", { name: "Revoke Nightly export" }).click();
    await page.getByRole("button", { name: /Revoke/ }).click();
    await page.locator(".toast").waitFor();
    assert.equal((await get("folders")).status, 401);
  });

  assert.deepEqual(errors, []);
  await context.close();

  async function get(path) {
    const headers = { Authorization: `Bearer ${token}` };
    const response = await fetch(`${fixture.url}/api/public/v1/${path}`, { headers });
    return { status: response.status, body: await response.json() };
  }
});
