// Keyboard shortcuts: `/` searches, `g` and a letter opens a section, `n` creates, `e` edits, `t` opens the
// table of the map, `j` and `k` move through rows, Enter opens a row, `?` lists the shortcuts. They are off while the user types.

import { button, el } from "../dom";
import { t } from "../messages";

/** The sections that `g` and a letter open. A link with `data-go="x"` overrides the address. */
const SECTIONS: Record<string, string> = {
  d: "/",
  f: "/folders",
  a: "/assignments",
  e: "/expenses",
  b: "/budgets",
  m: "/map",
  s: "/settings",
};

/** How long after `g` the letter may follow, in milliseconds. */
const SEQUENCE_TIMEOUT = 1500;

let sequenceEnd = 0;

export function initKeyboardShortcuts(): void {
  // Without navigation the user is not logged in, and there is no section to open.
  if (!document.querySelector(".rail")) return;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement;
    if (isTextField(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (handleKey(event.key, target)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!(event.target as Element).closest("[data-shortcuts]")) return;
    event.preventDefault();
    showShortcuts();
  });
}

function isTextField(target: HTMLElement): boolean {
  return target.matches(
    "input:not([type='checkbox'], [type='radio'], [type='button']), select, textarea, [contenteditable]",
  );
}

/** Returns whether the key was a shortcut. */
function handleKey(key: string, target: HTMLElement): boolean {
  if (performance.now() < sequenceEnd) {
    sequenceEnd = 0;
    const href = SECTIONS[key];
    if (href) return openSection(key, href);
  }
  switch (key) {
    case "g":
      sequenceEnd = performance.now() + SEQUENCE_TIMEOUT;
      return true;
    case "/":
      return focusField('[data-key="/"], .search input');
    case "n":
      return click('[data-key="n"]');
    case "e":
      return click('[data-key="e"]');
    case "t":
      return click('[data-key="t"]');
    case "j":
      return selectRow(1);
    case "k":
      return selectRow(-1);
    case "Enter":
      // The browser itself activates a focused link or button.
      return target === document.body && openSelectedRow();
    case "?":
      showShortcuts();
      return true;
    case "Escape":
      document.querySelector("tr.selected")?.classList.remove("selected");
      return false;
    default:
      return false;
  }
}

function openSection(letter: string, href: string): boolean {
  const link = document.querySelector<HTMLAnchorElement>(`a[data-go="${letter}"]`);
  location.assign(link?.href ?? href);
  return true;
}

function focusField(selector: string): boolean {
  const field = document.querySelector<HTMLInputElement>(selector);
  field?.focus();
  field?.select();
  return field !== null;
}

function click(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.click();
  return element !== null;
}

function rows(): HTMLTableRowElement[] {
  const inList = document.querySelectorAll<HTMLTableRowElement>("table.list tbody tr");
  const all = inList.length > 0 ? inList : document.querySelectorAll<HTMLTableRowElement>("main tbody tr");
  // A grid moves through its rows itself.
  return [...all].filter((row) => rowLink(row) && !row.closest("[role=grid]"));
}

function rowLink(row: Element): HTMLAnchorElement | null {
  return row.querySelector<HTMLAnchorElement>("td.name a, a");
}

/** Selects the next or previous row and focuses its link, so that screen readers announce it. */
function selectRow(offset: 1 | -1): boolean {
  const all = rows();
  const selected = all.findIndex((row) => row.classList.contains("selected"));
  const first = offset > 0 ? 0 : all.length - 1;
  const index = selected < 0 ? first : Math.min(Math.max(selected + offset, 0), all.length - 1);
  const row = all[index];
  if (!row) return false;
  document.querySelector("tr.selected")?.classList.remove("selected");
  row.classList.add("selected");
  rowLink(row)?.focus();
  row.scrollIntoView({ block: "nearest" });
  return true;
}

function openSelectedRow(): boolean {
  const row = document.querySelector("tr.selected");
  const link = row && rowLink(row);
  link?.click();
  return Boolean(link);
}

function showShortcuts(): void {
  const existing = document.querySelector<HTMLDialogElement>("#shortcuts");
  if (existing) {
    existing.showModal();
    return;
  }
  const close = button(t("script-close"));
  close.dataset.close = "";
  const dialog = el(
    "dialog",
    { id: "shortcuts", "aria-labelledby": "shortcuts-title" },
    el("h2", { id: "shortcuts-title" }, t("script-shortcuts-title")),
    el("dl", { class: "shortcuts" }, ...shortcuts().map(([name, keys]) => shortcutRow(name, keys))),
    el("div", { class: "form-actions" }, close),
  );
  document.body.append(dialog);
  dialog.showModal();
}

/** The name of each shortcut and its keys. */
function shortcuts(): [string, string][] {
  return [
    [t("script-shortcut-search"), "/"],
    [t("script-shortcut-new"), "n"],
    [t("script-shortcut-edit"), "e"],
    [t("script-shortcut-table"), "t"],
    [t("script-shortcut-next-row"), "j"],
    [t("script-shortcut-previous-row"), "k"],
    [t("script-shortcut-open-row"), t("script-key-enter")],
    [t("script-shortcut-dashboard"), "g d"],
    [t("script-shortcut-folders"), "g f"],
    [t("script-shortcut-assignments"), "g a"],
    [t("script-shortcut-expenses"), "g e"],
    [t("script-shortcut-budgets"), "g b"],
    [t("script-shortcut-map"), "g m"],
    [t("script-shortcut-settings"), "g s"],
    [t("script-shortcut-help"), "?"],
    [t("script-close"), t("script-key-escape")],
  ];
}

function shortcutRow(name: string, keys: string): HTMLElement {
  const labels = keys.split(" ").flatMap((key, index) => [index > 0 && " ", el("kbd", {}, key)]);
  return el("div", {}, el("dt", {}, name), el("dd", {}, ...labels));
}
