// Verifies the signatures of deliveries with the libraries that receivers use, which must also reject
// modified deliveries.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { verify } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";

const { BASE_URL: baseUrl, TOKEN: token, GROMA: groma } = process.env;
if (!baseUrl || !token || !groma)
  throw new Error("BASE_URL, TOKEN or GROMA is not set. Run the test with scripts/webhooks.");

/** Received deliveries by path. */
const deliveries = new Map();

const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  response.writeHead(204).end();
  const body = Buffer.concat(chunks).toString("utf8");
  queue(request.url).push({ headers: request.headers, body });
  receiver.emit("delivery");
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
const receiverUrl = `http://127.0.0.1:${receiver.address().port}`;

function queue(path) {
  if (!deliveries.has(path)) deliveries.set(path, []);
  return deliveries.get(path);
}

async function nextDelivery(path) {
  while (queue(path).length === 0) await once(receiver, "delivery");
  return queue(path).shift();
}

async function createEndpoint(path, options = {}) {
  const response = await fetch(`${baseUrl}/api/public/v1/webhooks/endpoints`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ url: receiverUrl + path, ...options }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

const run = (...args) => execFileSync(groma, args, { encoding: "utf8" });

function changeFolder(name) {
  writeFileSync("folders.ndjson", `${JSON.stringify({ reference: "Été", name })}\n`);
  run("import", "folders", "folders.ndjson");
}

const signature = ({ headers }) => headers["x-service-signature"];
const modified = (body) => body.replace("Été", "Ete");

async function checkServiceSignature(delivery, secret) {
  assert.ok(delivery.body.includes("Été"), "the delivery contains text beyond ASCII");
  assert.equal(await verify(secret, delivery.body, signature(delivery)), true);
  assert.equal(await verify(secret, modified(delivery.body), signature(delivery)), false);
  assert.equal(await verify(`${secret}x`, delivery.body, signature(delivery)), false);
}

function checkStandardSignature({ headers, body }, secret) {
  const webhook = new Webhook(secret);
  assert.deepEqual(webhook.verify(body, headers), JSON.parse(body));
  assert.throws(() => webhook.verify(modified(body), headers));
  const timestamp = String(Number(headers["webhook-timestamp"]) - 600);
  assert.throws(() => webhook.verify(body, { ...headers, "webhook-timestamp": timestamp }));
}

const generated = await createEndpoint("/generated");
const custom = await createEndpoint("/custom", { secret: "a secret of my own, with spaces" });
changeFolder("Chêne 1");
const [toGenerated, toCustom] = await Promise.all([nextDelivery("/generated"), nextDelivery("/custom")]);
await checkServiceSignature(toGenerated, generated.secret);
checkStandardSignature(toGenerated, generated.secret);
await checkServiceSignature(toCustom, custom.secret);
assert.equal(toCustom.headers["webhook-signature"], undefined);

// After a rotation, the old and the new secret both verify.
const newSecret = run("webhook", "rotate", generated.id).trim();
changeFolder("Chêne 2");
const afterRotation = await nextDelivery("/generated");
await nextDelivery("/custom");
checkStandardSignature(afterRotation, generated.secret);
checkStandardSignature(afterRotation, newSecret);
await checkServiceSignature(afterRotation, newSecret);

run("webhook", "test", custom.id);
const testDelivery = await nextDelivery("/custom");
assert.equal(testDelivery.headers["x-service-test"], "true");
assert.equal(await verify(custom.secret, testDelivery.body, signature(testDelivery)), true);

receiver.closeAllConnections();
receiver.close();
console.log("webhooks: octokit and standardwebhooks verify deliveries and reject modified ones");
