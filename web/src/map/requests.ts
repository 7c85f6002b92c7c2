// Requests of the map to the server, authenticated by the session cookie.

import { csrfToken } from "../app/csrf";
import { t } from "../messages";

/** A failed request. The message can be shown to the user. */
export class RequestError extends Error {
  /** What is wrong with each property of a shape. */
  problems: Record<string, string> = {};
}

export async function getJson<T>(url: string, signal?: AbortSignal): Promise<T> {
  const headers = { Accept: "application/json" };
  return parseResponse<T>(await fetch(url, { headers, ...(signal ? { signal } : {}) }));
}

/** Loads a part of a page. */
export async function getHtml(url: string, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { headers: { Accept: "application/json, text/html" }, signal });
  const isHtml = response.headers.get("Content-Type")?.startsWith("text/html");
  return response.ok && isHtml && !response.redirected ? response.text() : parseResponse<string>(response);
}

export async function postJson<T>(url: string, body: unknown): Promise<T> {
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    "X-CSRF-Token": csrfToken(),
  };
  return parseResponse<T>(await fetch(url, { method: "POST", headers, body: JSON.stringify(body) }));
}

/** The message to show for an error. Other errors than `RequestError` come from `fetch`. */
export function errorMessage(error: unknown): string {
  return error instanceof RequestError ? error.message : t("script-server-unreachable");
}

/** Replaces `{name}` in a URL template with percent-encoded values. */
export function expandUrl(template: string, values: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    return value === undefined ? placeholder : encodeURIComponent(value);
  });
}

async function parseResponse<T>(response: Response): Promise<T> {
  if (response.redirected && new URL(response.url).pathname === "/login") {
    location.reload();
    throw new RequestError(t("script-map-session-expired"));
  }
  const status = String(response.status);
  const content = await response.text();
  let body: unknown = null;
  try {
    body = content === "" ? null : JSON.parse(content);
  } catch {
    throw new RequestError(t("script-map-unexpected-response", { status }));
  }
  if (response.ok) return body as T;
  const { message, problems } = (body ?? {}) as { message?: unknown; problems?: Record<string, string> };
  const text = typeof message === "string" ? message : t("script-map-request-failed", { status });
  throw Object.assign(new RequestError(text), { problems: problems ?? {} });
}
