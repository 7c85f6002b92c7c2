// Chromium, and a server for its pages.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const directory = path.dirname(new URL(import.meta.url).pathname);
const library = path.join(directory, "node_modules/maplibre-gl/dist");

/**
 * Starts Chromium and a server, by default for the page that draws layers with MapLibre. Returns the browser, the
 * URL of the page, and a function that closes everything.
 */
export async function openBrowser(viewport, handler = serveFile) {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const profile = await mkdtemp(path.join(tmpdir(), "groma-chromium-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM,
    headless: true,
    viewport,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    ],
  });
  const close = async () => {
    await browser.close();
    server.close();
    await rm(profile, { recursive: true, force: true });
  };
  return { browser, pageUrl: `http://127.0.0.1:${server.address().port}/maplibre.html`, close };
}

/** Serves the page and MapLibre. */
async function serveFile(request, response) {
  const name = path.basename(new URL(request.url, "http://localhost").pathname);
  const types = { ".html": "text/html", ".mjs": "text/javascript", ".css": "text/css" };
  const type = types[path.extname(name)];
  const folder = path.extname(name) === ".html" ? directory : library;
  const content = type && (await readFile(path.join(folder, name)).catch(() => null));
  response.writeHead(content ? 200 : 404, { "Content-Type": type ?? "text/plain" });
  response.end(content ?? "");
}
