// Deliveries of the running program, verified by libraries that know nothing of it, and refused by them
// when a byte is another.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { verify } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";

const { BASE_URL: base, TOKEN: token, GROMA: groma, DATABASE: database } = process.env;
if (!base || !token || !groma || !database) throw new Error("run this by scripts/webhooks");

/** What came, by path, and those who wait for it. */
const arrived = new Map();
const waiting = new Map();

const server = createServer(async (request, answer) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  answer.writeHead(204).end();
  const hit = { headers: request.headers, body: Buffer.concat(parts).toString("utf8") };
  const waiter = waiting.get(request.url);
  if (waiter) {
    waiting.delete(request.url);
    waiter(hit);
  } else {
    arrived.set(request.url, hit);
  }
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const receiver = `http://127.0.0.1:${server.address().port}`;

/** The next delivery to a path. */
function next(path) {
  const hit = arrived.get(path);
  if (hit) {
    arrived.delete(path);
    return Promise.resolve(hit);
  }
  return new Promise((resolve) => waiting.set(path, resolve));
}

async function createEndpoint(path, more) {
  const request = {
    method: "POST",
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ url: receiver + path, ...more }),
  };
  const answer = await fetch(`${base}/api/public/v1/webhooks/endpoints`, request);
  assert.equal(answer.status, 200, await answer.clone().text());
  return answer.json();
}

const run = (...words) => execFileSync(groma, [...words, "--database", database], { encoding: "utf8" });

function change(name) {
  writeFileSync("folders.ndjson", `${JSON.stringify({ reference: "Été", name })}\n`);
  run("import", "folders", "folders.ndjson");
}

const own = (hit) => hit.headers["x-service-signature"];
const tampered = (body) => body.replace("Été", "Ete");

async function checkOwn(hit, secret) {
  assert.ok(hit.body.includes("Été"), "text beyond ASCII is signed as its bytes");
  assert.equal(await verify(secret, hit.body, own(hit)), true);
  assert.equal(await verify(secret, tampered(hit.body), own(hit)), false);
  assert.equal(await verify(`${secret}x`, hit.body, own(hit)), false);
}

function checkStandard(hit, secret) {
  const webhook = new Webhook(secret);
  assert.deepEqual(webhook.verify(hit.body, hit.headers), JSON.parse(hit.body));
  assert.throws(() => webhook.verify(tampered(hit.body), hit.headers));
  const late = { ...hit.headers, "webhook-timestamp": String(Number(hit.headers["webhook-timestamp"]) - 600) };
  assert.throws(() => webhook.verify(hit.body, late));
}

const made = await createEndpoint("/made", {});
const chosen = await createEndpoint("/chosen", { secret: "a secret of my own, with spaces" });
change("Chêne 1");
const [first, plain] = await Promise.all([next("/made"), next("/chosen")]);
await checkOwn(first, made.secret);
checkStandard(first, made.secret);
await checkOwn(plain, chosen.secret);
assert.equal(plain.headers["webhook-signature"], undefined);

// While a secret is replaced, receivers that know either of the two can verify.
const rotated = run("webhook", "rotate", made.id).trim();
change("Chêne 2");
const both = await next("/made");
await next("/chosen");
checkStandard(both, made.secret);
checkStandard(both, rotated);
await checkOwn(both, rotated);

run("webhook", "test", chosen.id);
const test = await next("/chosen");
assert.equal(test.headers["x-service-test"], "true");
assert.equal(await verify(chosen.secret, test.body, own(test)), true);

server.closeAllConnections();
server.close();
console.log("webhooks: octokit and standardwebhooks verify what is sent, and refuse what is not");
