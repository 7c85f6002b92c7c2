// Runs the groma binary with its own SQLite database in a temporary directory. The environment variable
// GROMA names the binary.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

/** Long enough for a busy machine. */
const START_TIMEOUT = 120_000;

export class TestServer {
  #process;
  #directory;
  #env;
  stdout = "";
  stderr = "";

  /**
   * Starts `groma serve`. `settings` are environment variables without the prefix `GROMA_`. `prepare` is
   * called with the server before it starts, to create data. `host` is the host name that browsers use.
   */
  static async start({ settings = {}, demo = false, prepare = async () => {}, host = "127.0.0.1" } = {}) {
    const server = new TestServer();
    server.#directory = await mkdtemp(path.join(tmpdir(), "groma-e2e-"));
    const [port, geoPort] = [await freePort(), await freePort()];
    server.url = `http://${host}:${port}`;
    server.#env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GROMA_"))),
      GROMA_SERVER__LISTEN: `127.0.0.1:${port}`,
      GROMA_SERVER__GEO_LISTEN: `127.0.0.1:${geoPort}`,
      ...(host === "127.0.0.1" ? {} : { GROMA_SERVER__PUBLIC_URL: server.url }),
      GROMA_DATABASE__URL: `sqlite:${path.join(server.#directory, "groma.db")}`,
      ...Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [`GROMA_${name}`, String(value)]),
      ),
    };
    await prepare(server);
    await server.#serve(demo);
    return server;
  }

  /** Runs a groma command and returns its output. The last argument can be `{ input }` for stdin. */
  async run(...args) {
    const input = typeof args.at(-1) === "object" ? args.pop().input : "";
    const command = spawn(binary(), args, { cwd: this.#directory, env: this.#env });
    let [stdout, stderr] = ["", ""];
    command.stdout.on("data", (data) => (stdout += data));
    command.stderr.on("data", (data) => (stderr += data));
    command.stdin.end(input);
    const [code] = await once(command, "close");
    if (code !== 0) throw new Error(`groma ${args.join(" ")} exited with ${code}: ${stderr}`);
    return stdout.trim();
  }

  /** Writes a file that commands can read by this name. */
  async writeFile(name, content) {
    await writeFile(path.join(this.#directory, name), content);
    return name;
  }

  async stop() {
    if (this.#process.exitCode === null) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "close");
    }
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #serve(demo) {
    const args = ["serve", ...(demo ? ["--demo"] : [])];
    this.#process = spawn(binary(), args, { cwd: this.#directory, env: this.#env });
    this.#process.stdout.on("data", (data) => (this.stdout += data));
    this.#process.stderr.on("data", (data) => (this.stderr += data));
    const deadline = Date.now() + START_TIMEOUT;
    while (!(await fetch(`${this.url}/login`).catch(() => null))) {
      if (this.#process.exitCode !== null || Date.now() > deadline)
        throw new Error(`the server did not start\n${this.stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function binary() {
  const { GROMA } = process.env;
  if (!GROMA) throw new Error("GROMA is not set. Run the tests with scripts/e2e.");
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
