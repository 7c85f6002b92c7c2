// The field in which a folder is chosen by its reference or name: a combobox whose list comes from the
// server as one types.

import type { FolderConfig, FoundFolder } from "./config";
import { el, swatch } from "./elements";
import { getJson } from "./requests";

/** How long typing must rest. */
const REST = 150;

export interface FolderField {
  element: HTMLElement;
  /** The chosen folder's reference, or null. */
  chosen(): string | null;
  /** Whether something was typed that is no folder. */
  undecided(): boolean;
}

export function folderField(
  search: string,
  given: Pick<FolderConfig, "reference" | "name"> | null,
): FolderField {
  let reference = given?.reference ?? null;
  let active = -1;
  const input = el("input", {
    id: "map-folder",
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-expanded": "false",
    "aria-controls": "map-folder-list",
    "aria-autocomplete": "list",
    placeholder: "Reference or name",
  });
  if (given) input.value = label(given);
  const list = el("ul", {
    id: "map-folder-list",
    role: "listbox",
    class: "map-options",
    "aria-label": "Folders",
    hidden: true,
  });
  const element = el(
    "div",
    { class: "field" },
    el("label", { for: "map-folder" }, "Folder ", el("span", { class: "optional" }, "optional")),
    input,
    list,
  );

  const options = () => [...list.querySelectorAll<HTMLElement>("[role=option]")];
  const fold = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (folder: FoundFolder) => {
    reference = folder.reference;
    input.value = label(folder);
    fold();
  };
  const mark = (index: number) => {
    const all = options();
    active = all.length === 0 ? -1 : (index + all.length) % all.length;
    all.forEach((option, at) => option.setAttribute("aria-selected", String(at === active)));
    const option = all[active];
    if (!option) return;
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };

  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: AbortController | null = null;
  let found: FoundFolder[] = [];
  const look = async () => {
    clearTimeout(timer);
    running?.abort();
    running = new AbortController();
    const answer = await getJson<FoundFolder[]>(
      `${search}?term=${encodeURIComponent(input.value.trim())}`,
      running.signal,
    ).catch(() => null);
    if (!answer) return;
    found = answer;
    list.replaceChildren(
      ...found.map((folder, index) => {
        const option = el(
          "li",
          { role: "option", id: `map-folder-${index}`, "aria-selected": "false" },
          swatch(folder.color, true),
          el("span", {}, folder.name),
          el("span", { class: "ref" }, folder.reference),
        );
        // Before the field loses the focus, and with it the list.
        option.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          choose(folder);
        });
        option.addEventListener("choose", () => choose(folder));
        return option;
      }),
    );
    if (found.length === 0)
      list.append(
        el(
          "li",
          { class: "faint", role: "option", "aria-disabled": "true", "aria-selected": "false" },
          "No folder matches",
        ),
      );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  };
  /** The folder that can only be meant: the reference in full, or the one match. */
  const decide = async () => {
    await look();
    const typed = input.value.trim().toLowerCase();
    const meant =
      found.find((folder) => folder.reference.toLowerCase() === typed) ??
      (found.length === 1 ? found[0] : undefined);
    if (meant && reference === null) choose(meant);
  };
  input.addEventListener("input", () => {
    reference = null;
    found = [];
    clearTimeout(timer);
    timer = setTimeout(() => void look(), REST);
  });
  input.addEventListener("blur", fold);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) void look();
      else mark(active + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter" && !list.hidden && active >= 0) {
      event.preventDefault();
      options()[active]?.dispatchEvent(new Event("choose"));
    } else if (event.key === "Enter" && reference === null && input.value.trim() !== "") {
      event.preventDefault();
      void decide();
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      fold();
    }
  });
  return {
    element,
    chosen: () => reference,
    undecided: () => reference === null && input.value.trim() !== "",
  };
}

function label({ reference, name }: Pick<FoundFolder, "reference" | "name">): string {
  return `${reference} · ${name}`;
}
