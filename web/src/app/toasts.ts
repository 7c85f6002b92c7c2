// A line at the foot of the page about what just happened, with Undo where there is one. It goes by
// itself, but never while someone is at it.

const STAYS = 10_000;
/** Where words wait that are to be said after the page came anew. */
const LATER = "groma.toast";

export function toasts(): void {
  const all = () => document.querySelectorAll<HTMLElement>(".toast:not([data-kept])").forEach(keep);
  all();
  document.addEventListener("htmx:afterSettle", all);
  const words = sessionStorage.getItem(LATER);
  sessionStorage.removeItem(LATER);
  if (words) toast(words);
}

/** Loads the page anew, and says something then. */
export function reloadSaying(words: string): void {
  sessionStorage.setItem(LATER, words);
  location.reload();
}

/** Shows one that no server wrote. */
export function toast(text: string, { bad = false } = {}): void {
  let list = document.querySelector<HTMLElement>(".toasts");
  if (!list) {
    list = document.createElement("div");
    list.className = "toasts";
    list.setAttribute("role", "status");
    document.body.append(list);
  }
  const one = document.createElement("div");
  one.className = bad ? "toast bad" : "toast";
  one.append(Object.assign(document.createElement("span"), { textContent: text }));
  list.append(one);
  keep(one);
}

function keep(one: HTMLElement): void {
  one.dataset.kept = "";
  const close = document.createElement("button");
  close.type = "button";
  close.className = "close";
  close.textContent = "✕";
  close.setAttribute("aria-label", "Close this message");
  close.addEventListener("click", () => one.remove());
  one.append(close);
  if ("keep" in one.dataset) return;
  let timer = setTimeout(() => one.remove(), STAYS);
  const wait = () => clearTimeout(timer);
  const goOn = () => {
    clearTimeout(timer);
    timer = setTimeout(() => one.remove(), STAYS);
  };
  one.addEventListener("pointerenter", wait);
  one.addEventListener("pointerleave", goOn);
  one.addEventListener("focusin", wait);
  one.addEventListener("focusout", goOn);
}
