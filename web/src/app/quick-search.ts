// Search while typing. htmx puts the hits into the list below the field; the arrow keys choose one, Enter opens
// it, and Enter without a choice opens the page with all results. Ctrl+K moves to the field.

import { el } from "../dom";
import { t } from "../messages";
import { parseCoordinate } from "../map/parse-coordinate";

export function initQuickSearch(): void {
  const field = document.querySelector<HTMLInputElement>(".search input");
  const list = document.getElementById("hits");
  if (!field || !list) return;
  const hits = () => [...list.querySelectorAll<HTMLAnchorElement>("a")];
  const chosen = () => list.querySelector<HTMLAnchorElement>("[aria-selected='true']");
  const choose = (hit: HTMLAnchorElement | null | undefined) => {
    chosen()?.setAttribute("aria-selected", "false");
    hit?.setAttribute("aria-selected", "true");
    hit?.scrollIntoView({ block: "nearest" });
    if (hit) field.setAttribute("aria-activedescendant", hit.id);
    else field.removeAttribute("aria-activedescendant");
  };
  const setOpen = (isOpen: boolean) => {
    list.hidden = !isOpen;
    field.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) choose(null);
  };

  list.addEventListener("htmx:afterSwap", () => {
    showPlace(list, field.value);
    setOpen(list.childElementCount > 0 && document.activeElement === field);
  });
  field.addEventListener("focus", () => setOpen(list.childElementCount > 0));
  field.addEventListener("blur", (event) => {
    if (!list.contains(event.relatedTarget as Node | null)) setOpen(false);
  });
  field.addEventListener("keydown", (event) => {
    const all = hits();
    const index = all.findIndex((hit) => hit === chosen());
    if (event.key === "ArrowDown") choose(all[(index + 1) % all.length]);
    else if (event.key === "ArrowUp") choose(all[(index <= 0 ? all.length : index) - 1]);
    else if (event.key === "Enter" && chosen()) location.assign(chosen()?.href ?? "");
    else if (event.key === "Escape" && !list.hidden) setOpen(false);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

/** If the text is a coordinate, puts the place on the map before the other hits. */
function showPlace(list: HTMLElement, text: string): void {
  const [longitude, latitude] = parseCoordinate(text) ?? [];
  if (longitude === undefined || latitude === undefined) return;
  const [y, x] = [latitude.toFixed(6), longitude.toFixed(6)];
  const attributes = { role: "option", id: "hit-place", tabindex: "-1", "aria-selected": "false" };
  const title = el("span", { class: "title" }, `${y}, ${x}`);
  const kind = el("small", { class: "faint" }, t("script-search-place"));
  // Says that there are no other hits.
  list.querySelector("[aria-disabled]")?.remove();
  list.prepend(el("a", { href: `/map#map=17/${y}/${x}`, ...attributes }, title, kind));
}
