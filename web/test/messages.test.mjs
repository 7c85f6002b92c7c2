import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { FluentResource } from "@fluent/bundle";
import { messagesFile, root } from "./import-source.mjs";

const messages = new FluentResource(await readFile(messagesFile, "utf8")).body;
const defined = messages.map(({ id }) => id).filter((id) => id.startsWith("script-"));
const sources = await Promise.all(
  (await readdir(path.join(root, "src"), { recursive: true }))
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFile(path.join(root, "src", name), "utf8")),
);
/** The first argument of every call of `t`. */
const calls = sources.flatMap((text) =>
  [...text.matchAll(/(?<!function )\bt\(\s*([^\s,)]+)/g)].map(([, argument]) => argument),
);
const used = calls.map((argument) => argument.replaceAll('"', ""));

test("message ids are literals, so that these tests find them", () => {
  assert(calls.length > 50);
  assert.deepEqual(
    calls.filter((argument) => !/^"script-[\w-]+"$/.test(argument)),
    [],
  );
});

test("every message that a script uses is defined", () => {
  assert.deepEqual(
    used.filter((id) => !defined.includes(id)),
    [],
  );
});

test("every script message is used by a script or by another message", () => {
  const references = JSON.stringify(messages);
  assert.deepEqual(
    defined.filter((id) => !used.includes(id) && !references.includes(`"name":"${id}"`)),
    [],
  );
});

test("scripts contain no text for users", () => {
  // Comments, console warnings and internal errors are for developers.
  const developerText = /\/\*[\s\S]*?\*\/|\/\/.*|console\.warn\([^;]*|new Error\([^;]*/g;
  const text = sources.map((source) => source.replace(developerText, "")).join("\n");
  const notForUsers = new Set([
    ...["Accept", "Content-Type", "Escape", "Enter", "Delete", "Backspace", "Home", "End"],
    ...["Feature", "FeatureCollection", "Point", "LineString", "Polygon", "Mixed"],
    ...["Inter", "Natural Earth", "Files"],
  ]);
  const capitalized = [...text.matchAll(/["`]([A-Z][a-z]+(?: [^"`]*)?)["`]/g)].map(([, string]) => string);
  assert.deepEqual(
    capitalized.filter((string) => !notForUsers.has(string)),
    [],
  );
});
