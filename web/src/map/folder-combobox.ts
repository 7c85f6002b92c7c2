// A combobox that finds a folder by reference or name. The server searches while the user types.

import { dot, el } from "../dom";
import { t } from "../messages";
import type { FolderConfig, FolderMatch } from "./config";
import { getJson } from "./requests";

type FolderLabel = Pick<FolderConfig, "reference" | "name">;

/** How long after the last keystroke the search starts, in milliseconds. */
const SEARCH_DELAY = 150;

export interface FolderCombobox {
  input: HTMLInputElement;
  /** The matches, below the input. */
  list: HTMLElement;
  /** The reference of the selected folder. */
  selected(): string | null;
  /** Whether the field contains text, but no folder is selected. */
  isUnresolved(): boolean;
}

export interface FolderComboboxOptions {
  /** The id of the input; the ids of other elements start with it. */
  id: string;
  searchUrl: string;
  placeholder: string;
  initial?: FolderLabel | null;
  onSelect?: (folder: FolderMatch) => void;
  /** Whether a text is something else than a part of a reference or name. */
  isOther?: (text: string) => boolean;
  /** Receives such a text when the user presses Enter. */
  onOther?: (text: string) => void;
}

/** The caller adds a label. */
export function createFolderCombobox(options: FolderComboboxOptions): FolderCombobox {
  const { id, searchUrl, placeholder, initial = null, onSelect, isOther, onOther } = options;
  let reference = initial?.reference ?? null;
  let activeIndex = -1;
  let matches: FolderMatch[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let request: AbortController | null = null;

  const input = el("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
    "aria-autocomplete": "list",
    placeholder,
  });
  if (initial) input.value = label(initial);
  const list = el("ul", {
    id: `${id}-list`,
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
    onSelect?.(folder);
  };
  const activate = (index: number) => {
    const items = [...list.querySelectorAll<HTMLElement>("[role=option]")];
    activeIndex = items.length === 0 ? -1 : (index + items.length) % items.length;
    items.forEach((option, at) => option.setAttribute("aria-selected", String(at === activeIndex)));
    const option = items[activeIndex];
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
    list.replaceChildren(...matches.map((folder, index) => matchOption(folder, `${id}-${index}`, select)));
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
    if (isOther?.(input.value)) close();
    else timer = setTimeout(() => void search(), SEARCH_DELAY);
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
    } else if (event.key === "Enter" && isOther?.(input.value)) {
      event.preventDefault();
      onOther?.(input.value);
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
    input,
    list,
    selected: () => reference,
    isUnresolved: () => reference === null && input.value.trim() !== "",
  };
}

function matchOption(folder: FolderMatch, id: string, select: (folder: FolderMatch) => void): HTMLLIElement {
  const option = el(
    "li",
    { role: "option", id, "aria-selected": "false" },
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
