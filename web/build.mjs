// Makes dist/ from src/: bundles under names that hold a hash of their content, so that a browser may
// keep them for ever; each beside its br and gzip forms, so that the program compresses none; and
// manifest.json, which says what hashed name a logical one has.

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(here, "dist");
const modules = path.join(here, "node_modules");
/** Where the program serves dist/. */
const SERVED = "/assets/";
/** What gains nothing from being compressed once more. */
const DENSE = new Set([".woff2", ".png"]);

const files = new Map();
const manifest = {};

await copied("inter.woff2", "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");
await copied("inter-ext.woff2", "@fontsource-variable/inter/files/inter-latin-ext-wght-normal.woff2");
add("icons.svg", await readFile(path.join(here, "src/icons.svg")));
add("icon.svg", await readFile(path.join(here, "src/icon.svg")));
await copied("countries-50m.json", "world-atlas/countries-50m.json");
await copied("countries-10m.json", "world-atlas/countries-10m.json");
await bundled("map-worker.js", path.join(modules, "maplibre-gl/dist/maplibre-gl-worker.mjs"));
await bundled("app.css", "src/app.css");
await bundled("map.css", "src/map.css");
await bundled("app.js", "src/app.ts");
await bundled("map.js", "src/map.ts");
await write();

/** Adds a file of a package as it is. */
async function copied(logical, file) {
  add(logical, await readFile(path.join(modules, file)));
}

/**
 * Bundles an entry point. It may name what was added before: in a style sheet by
 * `url(/assets/LOGICAL)`, in a script by `asset("LOGICAL")`.
 */
async function bundled(logical, entry) {
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    charset: "utf8",
    legalComments: "none",
    format: "iife",
    target: ["chrome123", "firefox128", "safari17.5"],
    external: [`${SERVED}*`],
    // Read where the package is an ES module; ours are plain scripts.
    define: { "import.meta.url": "document.baseURI" },
  });
  const [output] = outputFiles;
  const text = output.text
    .replace(/\basset\("([^"]+)"\)/g, (_, name) => JSON.stringify(SERVED + hashed(name)))
    .replace(/url\("?\/assets\/([^")]+)"?\)/g, (_, name) => `url(${SERVED}${hashed(name)})`);
  add(logical, Buffer.from(text));
}

function hashed(logical) {
  const name = manifest[logical];
  if (!name) throw new Error(`nothing was added under the name ${logical}`);
  return name;
}

function add(logical, content) {
  const { name, ext } = path.parse(logical);
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 10).toUpperCase();
  manifest[logical] = `${name}-${hash}${ext}`;
  files.set(manifest[logical], content);
}

/** Writes what is new, then the manifest, then removes what is no longer: a reader finds a whole set. */
async function write() {
  await mkdir(dist, { recursive: true });
  await Promise.all([...files].map(([name, content]) => writeForms(name, content)));
  await writeFile(path.join(dist, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const kept = new Set([
    "manifest.json",
    ...[...files.keys()].flatMap((name) => [name, `${name}.br`, `${name}.gz`]),
  ]);
  for (const name of await readdir(dist)) if (!kept.has(name)) await rm(path.join(dist, name));
}

async function writeForms(name, content) {
  const file = path.join(dist, name);
  await writeFile(file, content);
  if (DENSE.has(path.extname(name))) return;
  const params = {
    [zlib.constants.BROTLI_PARAM_QUALITY]: content.length < 2 ** 21 ? 11 : 9,
    [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  await writeFile(`${file}.br`, await promisify(zlib.brotliCompress)(content, { params }));
  await writeFile(`${file}.gz`, await promisify(zlib.gzip)(content, { level: 9 }));
}
