// A combobox that selects a folder by reference or name. The server searches while the user types.

import { dot, el } from "../dom";
import { t } from "../messages";
import type { FolderConfig, FolderMatch } from "./config";
import { getJson } from "./requests";

type FolderLabel = Pick<FolderConfig, "reference" | "name">;

/** How long after the last keystroke the search starts, in milliseconds. */
const SEARCH_DELAY = 150;

export interface FolderCombobox {
  element: HTMLElement;
  /** The reference of the selected folder. */
  selected(): string | null;
  /** Whether the field contains text, but no folder is selected. */
  isUnresolved(): boolean;
}

export function createFolderCombobox(searchUrl: string, initial: FolderLabel | null): FolderCombobox {
  let reference = initial?.reference ?? null;
  let activeIndex = -1;
  let matches: FolderMatch[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let request: AbortController | null = null;

  const input = el("input", {
    id: "map-folder",
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": "map-folder-list",
    "aria-autocomplete": "list",
    placeholder: t("script-map-folder-placeholder"),
  });
  if (initial) input.value = label(initial);
  const list = el("ul", {
    id: "map-folder-list",
    role: "listbox",
    class: "map-options",
    "aria-label": t("script-map-folders"),
    hidden: true,
  });

  const close = () => {
    list.hidden = true;
    activeIndex = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const select = (folder: FolderMatch) => {
    reference = folder.reference;
    input.value = label(folder);
    close();
  };
  const activate = (index: number) => {
    const options = [...list.querySelectorAll<HTMLElement>("[role=option]")];
    activeIndex = options.length === 0 ? -1 : (index + options.length) % options.length;
    options.forEach((option, at) => option.setAttribute("aria-selected", String(at === activeIndex)));
    const option = options[activeIndex];
    if (!option) return;
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  /** Returns whether the list shows the matches. It does not after an error, or if a later search began. */
  const search = async (): Promise<boolean> => {
    clearTimeout(timer);
    request?.abort();
    request = new AbortController();
    const url = `${searchUrl}?term=${encodeURIComponent(input.value.trim())}`;
    const response = await getJson<FolderMatch[]>(url, request.signal).catch(() => null);
    if (!response) return false;
    matches = response;
    list.replaceChildren(...matches.map((folder, index) => matchOption(folder, index, select)));
    if (matches.length === 0) list.append(emptyOption());
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    return true;
  };
  /** Selects the folder if the text is its full reference, or if only one folder matches. */
  const resolve = async () => {
    if (!(await search())) return;
    const text = input.value.trim().toLowerCase();
    const match =
      matches.find((folder) => folder.reference.toLowerCase() === text) ??
      (matches.length === 1 ? matches[0] : undefined);
    if (match && reference === null) select(match);
  };

  input.addEventListener("input", () => {
    reference = null;
    clearTimeout(timer);
    timer = setTimeout(() => void search(), SEARCH_DELAY);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) void search();
      else activate(activeIndex + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && !list.hidden && activeIndex >= 0) {
      event.preventDefault();
      const match = matches[activeIndex];
      if (match) select(match);
    } else if (event.key === "Enter" && reference === null && input.value.trim() !== "") {
      event.preventDefault();
      void resolve();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  });
  return {
    element: field(input, list),
    selected: () => reference,
    isUnresolved: () => reference === null && input.value.trim() !== "",
  };
}

function field(input: HTMLElement, list: HTMLElement): HTMLElement {
  const optional = el("span", { class: "optional" }, t("script-map-optional"));
  return el(
    "div",
    { class: "field" },
    el("label", { for: "map-folder" }, t("script-map-folder"), " ", optional),
    input,
    list,
  );
}

function matchOption(
  folder: FolderMatch,
  index: number,
  select: (folder: FolderMatch) => void,
): HTMLLIElement {
  const option = el(
    "li",
    { role: "option", id: `map-folder-${index}`, "aria-selected": "false" },
    dot(folder.color),
    el("span", {}, folder.name),
    el("span", { class: "ref" }, folder.reference),
  );
  // A click would come too late: the field loses the focus first, which closes the list.
  option.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    select(folder);
  });
  return option;
}

function emptyOption(): HTMLLIElement {
  const attributes = { class: "faint", role: "option", "aria-disabled": "true", "aria-selected": "false" };
  return el("li", attributes, t("script-map-folder-no-match"));
}

function label({ reference, name }: FolderLabel): string {
  return `${reference} · ${name}`;
}
