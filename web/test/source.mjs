// A module of src/, as the browser would load it.

import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "..");

export async function source(file) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [`src/${file}`],
    bundle: true,
    format: "esm",
    write: false,
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}
