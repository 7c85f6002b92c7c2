// The built program, running on a database of its own in a temporary folder. GROMA names the binary.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** Long enough for a busy machine; a wait ends with the thing itself. */
const PATIENCE = 120_000;

export class Program {
  #child;
  #folder;
  #env;
  /** What it said on its standard output, and in its log. */
  said = "";
  log = "";

  /** `settings` are names and values as in the environment, without `GROMA_`. */
  static async start({ settings = {}, demo = false, before = async () => {} } = {}) {
    const program = new Program();
    program.#folder = await mkdtemp(path.join(tmpdir(), "groma-e2e-"));
    const [main, geo] = [await freePort(), await freePort()];
    program.url = `http://127.0.0.1:${main}`;
    program.geoUrl = `http://127.0.0.1:${geo}`;
    program.#env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GROMA_"))),
      GROMA_SERVER__LISTEN: `127.0.0.1:${main}`,
      GROMA_SERVER__GEO_LISTEN: `127.0.0.1:${geo}`,
      GROMA_DATABASE__URL: `sqlite:${path.join(program.#folder, "groma.db")}`,
      ...Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [`GROMA_${name}`, String(value)]),
      ),
    };
    await before(program);
    await program.#serve(demo);
    return program;
  }

  /** Runs a command to its end and gives what it printed. */
  async command(...given) {
    const input = typeof given.at(-1) === "object" ? given.pop().input : "";
    const child = spawn(binary(), given, { cwd: this.#folder, env: this.#env });
    let [out, error] = ["", ""];
    child.stdout.on("data", (data) => (out += data));
    child.stderr.on("data", (data) => (error += data));
    child.stdin.end(input);
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`groma ${given.join(" ")} ended with ${code}: ${error}`);
    return out.trim();
  }

  /** Writes a file beside the database, for commands to read. */
  async file(name, content) {
    await writeFile(path.join(this.#folder, name), content);
    return name;
  }

  async stop() {
    if (this.#child.exitCode === null) {
      this.#child.kill("SIGTERM");
      await once(this.#child, "close");
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #serve(demo) {
    const child = spawn(binary(), ["serve", ...(demo ? ["--demo"] : [])], {
      cwd: this.#folder,
      env: this.#env,
    });
    this.#child = child;
    child.stdout.on("data", (data) => (this.said += data));
    child.stderr.on("data", (data) => (this.log += data));
    const end = Date.now() + PATIENCE;
    while (!(await fetch(`${this.url}/login`).catch(() => null))) {
      if (child.exitCode !== null || Date.now() > end)
        throw new Error(`the server did not start\n${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function binary() {
  const { GROMA } = process.env;
  if (!GROMA) throw new Error("GROMA must name the program to drive; scripts/e2e does");
  return GROMA;
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
