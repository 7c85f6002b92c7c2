// Toasts: short messages at the bottom of the page, with Undo where possible. A toast disappears by
// itself, but not while the pointer or the focus is on it.

import { el } from "../dom";
import { t } from "../messages";

const DURATION = 10_000;
/** Where `reloadWithToast` stores its text during the reload. */
const STORAGE_KEY = "groma.toast";

export function initToasts(): void {
  const initAll = () => document.querySelectorAll<HTMLElement>(".toast:not([data-ready])").forEach(initToast);
  initAll();
  document.addEventListener("htmx:afterSettle", initAll);
  const text = sessionStorage.getItem(STORAGE_KEY);
  sessionStorage.removeItem(STORAGE_KEY);
  if (text) showToast(text);
}

export function reloadWithToast(text: string): void {
  sessionStorage.setItem(STORAGE_KEY, text);
  location.reload();
}

export function showToast(text: string, { isError = false } = {}): void {
  let list = document.querySelector<HTMLElement>(".toasts");
  if (!list) {
    list = el("div", { class: "toasts", role: "status" });
    document.body.append(list);
  }
  const toast = el("div", { class: isError ? "toast bad" : "toast" }, el("span", {}, text));
  list.append(toast);
  initToast(toast);
}

/** Adds the close button and the timer. */
function initToast(toast: HTMLElement): void {
  toast.dataset.ready = "";
  const close = el("button", { type: "button", class: "close", "aria-label": t("script-dismiss") }, "✕");
  close.addEventListener("click", () => toast.remove());
  toast.append(close);
  let timer: ReturnType<typeof setTimeout>;
  const stopTimer = () => clearTimeout(timer);
  const startTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => toast.remove(), DURATION);
  };
  startTimer();
  toast.addEventListener("pointerenter", stopTimer);
  toast.addEventListener("pointerleave", startTimer);
  toast.addEventListener("focusin", stopTimer);
  toast.addEventListener("focusout", startTimer);
}
