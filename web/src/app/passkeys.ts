// Passkeys: `<button data-passkey="PATH">` logs in with one, and `<button data-new-passkey="PATH">` in a form
// registers one. The paths end with `/start`; the answer of the browser goes to `/finish`.

import { t } from "../messages";
import { csrfToken } from "./csrf";

export function initPasskeys(): void {
  if (!window.PublicKeyCredential) return;
  for (const part of document.querySelectorAll<HTMLElement>(".passkey")) part.hidden = false;
  document.addEventListener("click", (event) => {
    const button = (event.target as Element).closest<HTMLButtonElement>("[data-passkey]");
    if (button) void run(button, logIn);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    const button = form.querySelector<HTMLButtonElement>("[data-new-passkey]");
    if (!button) return;
    event.preventDefault();
    void run(button, register);
  });
}

/** Runs a ceremony, and shows below the button why it failed. */
async function run(
  button: HTMLButtonElement,
  ceremony: (button: HTMLButtonElement) => Promise<void>,
): Promise<void> {
  const error = button.closest(".passkey")?.querySelector<HTMLElement>("[role=alert]");
  if (error) error.hidden = true;
  button.disabled = true;
  try {
    await ceremony(button);
  } catch (cause) {
    if (!error) return;
    error.textContent = cause instanceof RequestError ? cause.message : t("script-passkey-cancelled");
    error.hidden = false;
  } finally {
    button.disabled = false;
  }
}

async function logIn(button: HTMLButtonElement): Promise<void> {
  const start = button.dataset.passkey ?? "";
  const { publicKey } = (await send(start)) as { publicKey: RequestOptions };
  const credential = (await navigator.credentials.get({
    publicKey: {
      ...publicKey,
      challenge: decode(publicKey.challenge),
      allowCredentials: publicKey.allowCredentials?.map(withDecodedId),
    } as unknown as PublicKeyCredentialRequestOptions,
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAssertionResponse;
  await finish(start, {
    ...identity(credential),
    response: {
      clientDataJSON: encode(response.clientDataJSON),
      authenticatorData: encode(response.authenticatorData),
      signature: encode(response.signature),
      userHandle: response.userHandle ? encode(response.userHandle) : null,
    },
  });
}

async function register(button: HTMLButtonElement): Promise<void> {
  const start = button.dataset.newPasskey ?? "";
  const { publicKey } = (await send(start)) as { publicKey: CreationOptions };
  const credential = (await navigator.credentials.create({
    publicKey: {
      ...publicKey,
      challenge: decode(publicKey.challenge),
      user: { ...publicKey.user, id: decode(publicKey.user.id) },
      excludeCredentials: publicKey.excludeCredentials?.map(withDecodedId),
    } as unknown as PublicKeyCredentialCreationOptions,
  })) as PublicKeyCredential;
  const response = credential.response as AuthenticatorAttestationResponse;
  const name = button.form?.querySelector<HTMLInputElement>("input")?.value ?? "";
  await finish(start, {
    name,
    credential: {
      ...identity(credential),
      response: {
        clientDataJSON: encode(response.clientDataJSON),
        attestationObject: encode(response.attestationObject),
        transports: response.getTransports?.(),
      },
    },
  });
}

/** Sends the answer of the browser, and goes where the server says. */
async function finish(start: string, answer: unknown): Promise<void> {
  const path = start.replace(/\/start.*$/, "/finish");
  const { location } = (await send(path, answer)) as { location: string };
  window.location.assign(location);
}

/** What the server says about a request that failed. */
class RequestError extends Error {}

async function send(path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", "x-csrf-token": csrfToken() },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (response.redirected) {
    // The login is no longer recent.
    window.location.assign(response.url);
    return new Promise(() => undefined);
  }
  const answer = (await response.json().catch(() => ({}))) as { message?: string; location?: string };
  if (!response.ok) throw new RequestError(answer.message ?? t("script-server-unreachable"));
  if (answer.location && !body) {
    window.location.assign(answer.location);
    return new Promise(() => undefined);
  }
  return answer;
}

interface Described {
  id: string;
}

interface RequestOptions {
  challenge: string;
  allowCredentials?: Described[];
}

interface CreationOptions {
  challenge: string;
  user: { id: string };
  excludeCredentials?: Described[];
}

function identity(credential: PublicKeyCredential): object {
  return {
    id: credential.id,
    rawId: encode(credential.rawId),
    type: credential.type,
    extensions: credential.getClientExtensionResults(),
  };
}

function withDecodedId<D extends Described>(described: D): object {
  return { ...described, id: decode(described.id) };
}

/** Bytes from base64url, the encoding of binary data in the messages of the server. */
function decode(text: string): Uint8Array {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

function encode(bytes: ArrayBuffer): string {
  const text = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
