// Pieces of pages, fetched by htmx. The Content-Security-Policy forbids what htmx would do by inline
// style or by evaluating text, so that is off; and nothing of a page is kept in the browser's storage.

import htmx from "htmx.org/dist/htmx.esm.js";
import { csrf } from "./csrf";
import { toast } from "./toasts";

interface Asked {
  headers: Record<string, string>;
  parameters: Record<string, FormDataEntryValue>;
  verb: string;
}

export function pieces(): void {
  Object.assign(htmx.config, {
    allowEval: false,
    allowScriptTags: false,
    includeIndicatorStyles: false,
    selfRequestsOnly: true,
    historyCacheSize: 0,
    refreshOnHistoryMiss: true,
    scrollBehavior: "instant",
    // An answer that says what is wrong with a form is shown like any other.
    responseHandling: [
      { code: "204", swap: false },
      { code: "[23]..", swap: true },
      { code: "400|409|422", swap: true, error: false },
      { code: "[45]..", swap: false, error: true },
    ],
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const { headers, parameters, verb } = (event as CustomEvent<Asked>).detail;
    if (verb !== "get") {
      headers["X-CSRF-Token"] = csrf();
      return;
    }
    // What is left empty says nothing: the address reads better without it.
    for (const [name, value] of Object.entries(parameters)) if (value === "") delete parameters[name];
  });
  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = (event as CustomEvent<{ xhr: XMLHttpRequest }>).detail;
    // Whoever is no longer logged in is best told by the page itself.
    if (xhr.status === 401 || xhr.status === 403) location.reload();
    else toast(`That did not work (${xhr.status}). Try again, or reload the page.`, { bad: true });
  });
  document.addEventListener("htmx:sendError", () => {
    toast("The server cannot be reached. Nothing was changed.", { bad: true });
  });
}
