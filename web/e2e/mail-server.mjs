// A mail server with STARTTLS and a login, which keeps the mails it receives.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

const run = promisify(execFile);
const LOGIN = { username: "groma", password: "a password for the mail server" };

export class MailServer {
  #server;
  #directory;
  mails = [];

  /** Starts a server on a free port, with a certificate for `localhost` from an authority of its own. */
  static async start() {
    const server = new MailServer();
    server.#directory = await mkdtemp(path.join(tmpdir(), "groma-mail-"));
    await issueCertificate(server.#directory);
    server.#server = new SMTPServer({
      key: await readFile(path.join(server.#directory, "server.key")),
      cert: await readFile(path.join(server.#directory, "server.pem")),
      disableReverseLookup: true,
      onAuth: ({ username, password }, session, done) => {
        const isKnown = session.secure && username === LOGIN.username && password === LOGIN.password;
        done(isKnown ? null : new Error("wrong login, or no encryption"), { user: username });
      },
      onData: (stream, session, done) => server.#receive(stream, session).then(() => done(), done),
    });
    // A client that stops in the middle is not an error of the server.
    server.#server.on("error", () => {});
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server.server, "listening");
    return server;
  }

  /** The settings of a program that sends its mail here, without the prefix `GROMA_`. */
  get settings() {
    return {
      SMTP__HOST: "localhost",
      SMTP__PORT: this.#server.server.address().port,
      SMTP__USERNAME: LOGIN.username,
      SMTP__PASSWORD: LOGIN.password,
      SMTP__FROM: "Groma <groma@example.test>",
      SMTP__EXTRA_ROOTS: path.join(this.#directory, "authority.pem"),
    };
  }

  /** Waits for a mail to an address whose subject matches, and returns the last one. */
  async waitFor(recipient, subject) {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const found = this.mails.findLast((mail) => mail.recipient === recipient && subject.test(mail.subject));
      if (found) return found;
      if (Date.now() > deadline) {
        const known = this.mails.map((mail) => `${mail.recipient}: ${mail.subject}`).join("\n");
        throw new Error(`no mail ${subject} to ${recipient}, but\n${known}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async stop() {
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #receive(stream, session) {
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const { subject, text, headers } = await PostalMime.parse(Buffer.concat(chunks));
    const [{ address }] = session.envelope.rcptTo;
    this.mails.push({ recipient: address, subject, text, headers, isEncrypted: session.secure });
  }
}

/** The first link of a mail. */
export function linkIn(mail) {
  const [link] = mail.text.match(/https?:\/\/\S+/) ?? [];
  if (!link) throw new Error(`no link in ${mail.text}`);
  return link;
}

async function issueCertificate(directory) {
  const openssl = (...args) => run("openssl", args, { cwd: directory });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    ...["req", "-x509", ...key, "-keyout", "authority.key", "-out", "authority.pem"],
    ...["-days", "2", "-subj", "/CN=Test authority"],
  );
  await openssl(
    ...["req", "-new", ...key, "-keyout", "server.key", "-out", "server.csr"],
    ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
  );
  await openssl(
    ...["x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key"],
    ...["-days", "2", "-copy_extensions", "copy", "-out", "server.pem"],
  );
}
