import assert from "node:assert/strict";
import { test } from "node:test";
import { source } from "./source.mjs";

const { said } = await source("app/times.ts");
const now = new Date(2026, 10, 15, 10, 0, 0);
const before = (seconds) => said(new Date(now.valueOf() - 1000 * seconds), now);

test("a moment is told as people say it", () => {
  assert.equal(before(0), "just now");
  assert.equal(before(20), "just now");
  assert.equal(before(60), "1 min ago");
  assert.equal(before(44 * 60), "44 min ago");
  assert.equal(before(3 * 3600), "3 h ago");
  assert.equal(before(26 * 3600), "yesterday");
  assert.equal(before(3 * 86400), "3 days ago");
  assert.equal(before(30 * 86400), "16 Oct");
  assert.equal(before(400 * 86400), "11 Oct 2025");
});

test("what is to come is told too", () => {
  assert.equal(before(-5 * 60), "in 5 min");
  assert.equal(before(-30 * 3600), "tomorrow");
  assert.equal(before(-5 * 86400), "in 5 days");
});
