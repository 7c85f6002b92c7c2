// Requests of the map to its own server, over the session.

import { csrf } from "../app/csrf";

/** A refusal, in words that can be shown. */
export class Refused extends Error {}

export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const headers = { Accept: "application/json" };
  return answered<T>(await fetch(url, { headers, ...(signal ? { signal } : {}) }));
}

export async function postJson<T>(url: string, body: unknown): Promise<T> {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRF-Token": csrf() };
  return answered<T>(await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answered<T>(response: Response): Promise<T> {
  if (response.redirected && new URL(response.url).pathname === "/login") {
    location.reload();
    throw new Refused("You are no longer logged in.");
  }
  const text = await response.text();
  let parsed: unknown = null;
  try {
    parsed = text === "" ? null : JSON.parse(text);
  } catch {
    throw new Refused(`The server answered something else than was asked for (${response.status}).`);
  }
  if (response.ok) return parsed as T;
  const message = (parsed as { message?: unknown } | null)?.message;
  throw new Refused(typeof message === "string" ? message : `That did not work (${response.status}).`);
}

/** Puts values into an address, each percent-encoded. */
export function address(template: string, values: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    return value === undefined ? whole : encodeURIComponent(value);
  });
}
