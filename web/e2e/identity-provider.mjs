// An OpenID Connect provider whose users log in with any password.

import { once } from "node:events";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const CLIENT = { id: "groma", secret: "a secret of the client groma, of some length" };

export class IdentityProvider {
  #http;
  #provider;
  /** The claims of each user, by login name. */
  users = {};
  /** Whether the provider fails when it is asked for claims. */
  isFailing = false;

  /** Starts to listen on a free port. `register` must follow before the first login. */
  static async start() {
    const idp = new IdentityProvider();
    idp.#http = createServer((request, response) => {
      if (idp.isFailing && request.url === "/me") response.writeHead(503).end();
      else idp.#provider(request, response);
    });
    idp.#http.listen(0, "127.0.0.1");
    await once(idp.#http, "listening");
    idp.issuer = `http://127.0.0.1:${idp.#http.address().port}`;
    return idp;
  }

  /** Registers the client whose users return to this address. */
  register(url) {
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [`${url}/login/with/company/callback`],
          post_logout_redirect_uris: [`${url}/login`],
        },
      ],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
      findAccount: (_, id) => ({
        accountId: id,
        claims: () => ({ sub: id, ...this.users[id] }),
      }),
      cookies: { keys: ["a key of the test"] },
    });
    // Chromium stores cookies of http pages, which the library warns about.
    provider.on("server_error", (_, error) => console.error(error));
    this.#provider = provider.callback();
  }

  /** The settings of a program that uses this provider, without the prefix `GROMA_`. */
  settings(more = {}) {
    const settings = {
      LABEL: "Company account",
      ISSUER: this.issuer,
      CLIENT_ID: CLIENT.id,
      CLIENT_SECRET: CLIENT.secret,
      ...more,
    };
    const named = Object.entries(settings).map(([name, value]) => [`OIDC__COMPANY__${name}`, value]);
    return Object.fromEntries(named);
  }

  async stop() {
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }
}

/** Fills in the pages of the provider: the login, and the consent that it asks for once. */
export async function logInAtProvider(page, user, { hasConsented = false } = {}) {
  await page.locator("input[name=login]").fill(user);
  await page.locator("input[name=password]").fill("any password");
  await page.locator("button[type=submit]").click();
  if (!hasConsented) await page.getByRole("button", { name: "Continue" }).click();
}
