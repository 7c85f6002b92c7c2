import assert from "node:assert/strict";
import { test } from "node:test";
import { importSource } from "./import-source.mjs";

const { relativeTime } = await importSource("app/relative-time.ts");
const now = new Date(2026, 10, 15, 10, 0, 0);
const secondsAgo = (seconds) => relativeTime(new Date(now.valueOf() - 1000 * seconds), now);

test("past times are relative for two weeks, then dates", () => {
  assert.equal(secondsAgo(0), "just now");
  assert.equal(secondsAgo(20), "just now");
  assert.equal(secondsAgo(60), "1 min ago");
  assert.equal(secondsAgo(44 * 60), "44 min ago");
  assert.equal(secondsAgo(3 * 3600), "3 h ago");
  assert.equal(secondsAgo(26 * 3600), "yesterday");
  assert.equal(secondsAgo(3 * 86400), "3 days ago");
  assert.equal(secondsAgo(30 * 86400), "16 Oct");
  assert.equal(secondsAgo(400 * 86400), "11 Oct 2025");
});

test("future times are relative", () => {
  assert.equal(secondsAgo(-5 * 60), "in 5 min");
  assert.equal(secondsAgo(-30 * 3600), "tomorrow");
  assert.equal(secondsAgo(-5 * 86400), "in 5 days");
});
