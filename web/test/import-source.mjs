import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");
export const messagesFile = path.join(root, "../crates/groma/locales/en.ftl");

/** Bundles and imports a module of src/. It finds the English messages in the document, as in a page. */
export async function importSource(file) {
  const textContent = await readFile(messagesFile, "utf8");
  globalThis.document = { documentElement: { lang: "en" }, getElementById: () => ({ textContent }) };
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`src/${file}`],
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}
