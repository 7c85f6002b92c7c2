// A text field with a list of matches, which are searched while the user types.

import { el } from "../dom";

/** How long after the last keystroke the search starts, in milliseconds. */
const SEARCH_DELAY = 150;

export interface Combobox<Item> {
  input: HTMLInputElement;
  /** The matches, below the input. */
  list: HTMLElement;
  selected(): Item | null;
  /** Whether the field contains text, but nothing is selected. */
  isUnresolved(): boolean;
}

export interface ComboboxOptions<Item> {
  /** The id of the input; the ids of other elements start with it. */
  id: string;
  placeholder: string;
  listLabel: string;
  emptyText: string;
  initial?: Item | null;
  search(text: string, signal: AbortSignal): Promise<Item[]>;
  /** The text in the field after the item was selected. */
  text(item: Item): string;
  /** The content of the item in the list. */
  content(item: Item): Node[];
  /** Whether Enter selects the item although others match, too. `text` is in lowercase. */
  isExact(item: Item, text: string): boolean;
  onSelect?: (item: Item) => void;
}

/** The caller adds a label. */
export function createCombobox<Item>(options: ComboboxOptions<Item>): Combobox<Item> {
  const { id, placeholder, listLabel, onSelect } = options;
  let selected: Item | null = options.initial ?? null;
  let activeIndex = -1;
  let matches: Item[] = [];
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
  if (selected) input.value = options.text(selected);
  const list = el("ul", {
    id: `${id}-list`,
    role: "listbox",
    class: "map-options",
    "aria-label": listLabel,
    hidden: true,
  });

  const close = () => {
    list.hidden = true;
    activeIndex = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const select = (item: Item) => {
    selected = item;
    input.value = options.text(item);
    close();
    onSelect?.(item);
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
  const matchOption = (item: Item, index: number): HTMLLIElement => {
    const attributes = { role: "option", id: `${id}-${index}`, "aria-selected": "false" };
    const option = el("li", attributes, ...options.content(item));
    // A click would come too late: the field loses the focus first, which closes the list.
    option.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      select(item);
    });
    return option;
  };
  const emptyOption = (): HTMLLIElement => {
    const attributes = { class: "faint", role: "option", "aria-disabled": "true", "aria-selected": "false" };
    return el("li", attributes, options.emptyText);
  };
  /** Returns whether the list shows the matches. It does not after an error, or if a later search began. */
  const search = async (): Promise<boolean> => {
    clearTimeout(timer);
    request?.abort();
    const current = new AbortController();
    request = current;
    const found = await options.search(input.value.trim(), current.signal).catch(() => null);
    if (!found || current.signal.aborted) return false;
    matches = found;
    list.replaceChildren(...matches.map(matchOption));
    if (matches.length === 0) list.append(emptyOption());
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    return true;
  };
  /** Selects the item that the text names, or the only match. */
  const resolve = async () => {
    if (!(await search())) return;
    const text = input.value.trim().toLowerCase();
    const match =
      matches.find((item) => options.isExact(item, text)) ?? (matches.length === 1 ? matches[0] : undefined);
    if (match && selected === null) select(match);
  };

  input.addEventListener("input", () => {
    selected = null;
    clearTimeout(timer);
    timer = setTimeout(() => void search(), SEARCH_DELAY);
  });
  input.addEventListener("blur", () => {
    clearTimeout(timer);
    close();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) void search();
      else activate(activeIndex + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && !list.hidden && activeIndex >= 0) {
      event.preventDefault();
      const match = matches[activeIndex];
      if (match) select(match);
    } else if (event.key === "Enter" && selected === null && input.value.trim() !== "") {
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
    selected: () => selected,
    isUnresolved: () => selected === null && input.value.trim() !== "",
  };
}
