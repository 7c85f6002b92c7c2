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
import { feature } from "topojson-client";

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
addFile("world.svg", worldMap(JSON.parse(await readFile(path.join(packages, "world-atlas/land-110m.json")))));
await bundle("map-worker.js", path.join(packages, "maplibre-gl/dist/maplibre-gl-worker.mjs"));
await bundle("app.css", "src/app.css");
await bundle("map.css", "src/map.css");
await bundle("app.js", "src/app.ts");
await bundle("map.js", "src/map.ts");
await writeDist();

async function copyFromPackage(name, file) {
  addFile(name, await readFile(path.join(packages, file)));
}

/** A ring whose longitudes go on beyond 180°, except along the pole. */
function withoutJumps(ring) {
  let shift = 0;
  return ring.map(([longitude, latitude], index) => {
    const jump = index > 0 && latitude > -85 ? longitude - ring[index - 1][0] : 0;
    if (Math.abs(jump) > 180) shift -= 360 * Math.sign(jump);
    return [longitude + shift, latitude];
  });
}

/** The land of the world as SVG, a unit for each degree. */
function worldMap(topology) {
  const { features } = feature(topology, topology.objects.land);
  const rings = features.flatMap(({ geometry }) => geometry.coordinates).flat();
  const point = ([longitude, latitude]) => `${(longitude + 180).toFixed(1)} ${(90 - latitude).toFixed(1)}`;
  const draw = (ring, shift) => `M${ring.map(([x, y]) => point([x + shift, y])).join("L")}Z`;
  // A ring across the antimeridian is drawn on both sides of the map.
  const path = rings.map(withoutJumps).flatMap((ring) => {
    const longitudes = ring.map(([longitude]) => longitude);
    const shifts = [0];
    if (Math.max(...longitudes) > 180) shifts.push(-360);
    if (Math.min(...longitudes) < -180) shifts.push(360);
    return shifts.map((shift) => draw(ring, shift));
  });
  return Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 180"><path fill="#8a94a6" fill-opacity="0.45" d="${path.join("")}"/></svg>\n`,
  );
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
