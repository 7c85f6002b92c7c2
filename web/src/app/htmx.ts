// Configures htmx, which replaces parts of a page. The Content-Security-Policy forbids inline styles and
// evaluated text, so htmx must not use them. No page content is kept in the browser's storage.

import htmx from "htmx.org/dist/htmx.esm.js";
import { t } from "../messages";
import { csrfToken } from "./csrf";
import { showToast } from "./toasts";

interface RequestConfig {
  headers: Record<string, string>;
  parameters: Record<string, FormDataEntryValue>;
  verb: string;
}

export function initHtmx(): void {
  Object.assign(htmx.config, {
    allowEval: false,
    allowScriptTags: false,
    includeIndicatorStyles: false,
    selfRequestsOnly: true,
    historyCacheSize: 0,
    refreshOnHistoryMiss: true,
    scrollBehavior: "instant",
    responseHandling: [
      { code: "204", swap: false },
      { code: "[23]..", swap: true },
      // The response contains the form with its validation errors.
      { code: "400|409|422", swap: true, error: false },
      { code: "[45]..", swap: false, error: true },
    ],
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const { headers, parameters, verb } = (event as CustomEvent<RequestConfig>).detail;
    if (verb !== "get") {
      headers["X-CSRF-Token"] = csrfToken();
      return;
    }
    // Keeps the URL short.
    for (const [name, value] of Object.entries(parameters)) if (value === "") delete parameters[name];
  });
  document.addEventListener("htmx:responseError", (event) => {
    const { status } = (event as CustomEvent<{ xhr: XMLHttpRequest }>).detail.xhr;
    // After the session has expired, a reload leads to the login page.
    if (status === 401 || status === 403) location.reload();
    else showToast(t("script-request-failed-reload", { status: String(status) }), { isError: true });
  });
  document.addEventListener("htmx:sendError", () => {
    showToast(t("script-server-unreachable"), { isError: true });
  });
}
