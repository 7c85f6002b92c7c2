// Keeps what was typed: through a login when the session ended, and by a warning before the page is left.

import { t } from "../messages";
import { showToast } from "./toasts";

/** The last submitted form, until the server has accepted it. */
interface Draft {
  /** The page of the form, and the address that it is sent to. */
  page: string;
  action: string;
  fields: [name: string, value: string][];
}

const KEY = "draft";
const here = (): string => location.pathname + location.search;

export function initDrafts(): void {
  restoreDraft();
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "post" || isLogin()) return;
    saveDraft(form);
    form.dataset["submitted"] = "";
  });
  addEventListener("beforeunload", (event) => {
    const forms = [...document.querySelectorAll<HTMLFormElement>("form[data-warn]")];
    if (forms.some((form) => !("submitted" in form.dataset) && isChanged(form))) event.preventDefault();
  });
}

/** The login form itself is not kept. */
function isLogin(): boolean {
  return location.pathname === "/login";
}

function saveDraft(form: HTMLFormElement): void {
  const secret = new Set(
    [...form.querySelectorAll("[type='password']")].map((field) => field.getAttribute("name")),
  );
  const fields = [...new FormData(form)].flatMap(([name, value]): [string, string][] =>
    name === "_csrf" || secret.has(name) || typeof value !== "string" ? [] : [[name, value]],
  );
  const draft: Draft = { page: here(), action: form.action, fields };
  sessionStorage.setItem(KEY, JSON.stringify(draft));
}

/** Fills in the draft when the login has led back to its page. Any other page discards it. */
function restoreDraft(): void {
  if (isLogin()) return;
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  const cameFromLogin = document.referrer !== "" && new URL(document.referrer).pathname === "/login";
  if (!text || !cameFromLogin) return;
  const { page, action, fields } = JSON.parse(text) as Draft;
  const form = [...document.forms].find((other) => other.method === "post" && other.action === action);
  if (page !== here() || !form) return;
  fillIn(form, fields);
  showToast(t("script-draft-restored"));
}

function fillIn(form: HTMLFormElement, fields: Draft["fields"]): void {
  for (const element of form.elements) {
    if (!isField(element) || element.type === "hidden") continue;
    const index = fields.findIndex(([name]) => name === element.name);
    const values = fields.filter(([name]) => name === element.name).map(([, value]) => value);
    if (element instanceof HTMLInputElement && element.type === "checkbox") {
      element.checked = values.includes(element.value);
    } else if (element instanceof HTMLSelectElement && element.multiple) {
      for (const option of element.options) option.selected = values.includes(option.value);
    } else if (index >= 0) {
      // Fields of the same name are in the order of the form.
      const [[, value = ""] = []] = fields.splice(index, 1);
      element.value = value;
    }
  }
}

type FormField = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function isField(element: Element): element is FormField {
  return (
    element instanceof HTMLInputElement ||
    element instanceof HTMLSelectElement ||
    element instanceof HTMLTextAreaElement
  );
}

function isChanged(form: HTMLFormElement): boolean {
  return [...form.elements].some((element) => {
    if (!isField(element) || element.type === "hidden") return false;
    if (element instanceof HTMLSelectElement) {
      const options = [...element.options];
      const hasDefault = options.some(({ defaultSelected }) => defaultSelected);
      return options.some((option, index) =>
        hasDefault || element.multiple
          ? option.selected !== option.defaultSelected
          : option.selected !== (index === 0),
      );
    }
    if (element instanceof HTMLInputElement && ["checkbox", "radio"].includes(element.type)) {
      return element.checked !== element.defaultChecked;
    }
    return element.value !== element.defaultValue;
  });
}
