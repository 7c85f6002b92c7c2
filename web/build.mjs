// Builds dist/ from src/. Every file name contains a hash of the content, so browsers may cache files
// forever. Each file is also stored compressed with Brotli and gzip, so the server never compresses.
// manifest.json maps each file's plain name to its hashed name.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { build } from "esbuild";

const root = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(root, "dist");
const packages = path.join(root, "node_modules");
/** The path under which the server serves dist/. */
const ASSETS = "/assets/";
/** Formats that are compressed already. */
const COMPRESSED = new Set([".woff2", ".png"]);

/** Content by hashed name. */
const files = new Map();
/** Hashed name by plain name. */
const manifest = {};

await copyFromPackage("inter.woff2", "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");
await copyFromPackage(
  "inter-ext.woff2",
  "@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2",
);
addFile("icons.svg", await readFile(path.join(root, "src/icons.svg")));
addFile("icon.svg", await readFile(path.join(root, "src/icon.svg")));
await copyFromPackage("countries-50m.json", "world-atlas/countries-50m.json");
await copyFromPackage("countries-10m.json", "world-atlas/countries-10m.json");
await bundle("map-worker.js", path.join(packages, "maplibre-gl/dist/maplibre-gl-worker.mjs"));
await bundle("app.css", "src/app.css");
await bundle("map.css", "src/map.css");
await bundle("app.js", "src/app.ts");
await bundle("map.js", "src/map.ts");
await writeDist();

async function copyFromPackage(name, file) {
  addFile(name, await readFile(path.join(packages, file)));
}

/**
 * Bundles an entry point. It can refer to files that were added before: `url(/assets/NAME)` in CSS,
 * `asset("NAME")` in TypeScript.
 */
async function bundle(name, entry) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    charset: "utf8",
    legalComments: "none",
    format: "iife",
    target: ["chrome123", "firefox128", "safari17.5"],
    external: [`${ASSETS}*`],
    // MapLibre is an ES module and reads this; the bundles are classic scripts, where it does not exist.
    define: { "import.meta.url": "document.baseURI" },
  });
  const text = outputFiles[0].text
    .replace(/\basset\("([^"]+)"\)/g, (_, file) => JSON.stringify(ASSETS + hashedName(file)))
    .replace(/url\("?\/assets\/([^")]+)"?\)/g, (_, file) => `url(${ASSETS}${hashedName(file)})`);
  addFile(name, Buffer.from(text));
}

function hashedName(name) {
  const hashed = manifest[name];
  if (!hashed) throw new Error(`unknown asset: ${name}`);
  return hashed;
}

function addFile(name, content) {
  const { name: stem, ext } = path.parse(name);
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 10).toUpperCase();
  manifest[name] = `${stem}-${hash}${ext}`;
  files.set(manifest[name], content);
}

/** Writes new files first and deletes old ones last, so that the manifest never names a missing file. */
async function writeDist() {
  await mkdir(dist, { recursive: true });
  await Promise.all([...files].map(([name, content]) => writeEncodings(name, content)));
  await writeFile(path.join(dist, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const current = new Set([
    "manifest.json",
    ...[...files.keys()].flatMap((name) => [name, `${name}.br`, `${name}.gz`]),
  ]);
  for (const name of await readdir(dist)) if (!current.has(name)) await rm(path.join(dist, name));
}

/** Writes a file as it is, and compressed with Brotli and gzip. */
async function writeEncodings(name, content) {
  const file = path.join(dist, name);
  await writeFile(file, content);
  if (COMPRESSED.has(path.extname(name))) return;
  const params = {
    [zlib.constants.BROTLI_PARAM_QUALITY]: content.length < 2 ** 21 ? 11 : 9,
    [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  await writeFile(`${file}.br`, await promisify(zlib.brotliCompress)(content, { params }));
  await writeFile(`${file}.gz`, await promisify(zlib.gzip)(content, { level: 9 }));
}
