// Selecting rows of a list: the checkbox in the heading selects all of them, Shift extends a selection, and
// the number of selected rows is shown beside the actions.

let lastChecked: HTMLInputElement | null = null;

export function initSelection(): void {
  document.addEventListener("click", (event) => {
    const box = event.target as HTMLElement;
    if (!(box instanceof HTMLInputElement) || box.type !== "checkbox") return;
    if (box.matches("[data-select-all]")) {
      for (const other of boxes()) other.checked = box.checked;
    } else if (box.matches("td.select > input")) {
      if (event.shiftKey) extendTo(box);
      lastChecked = box;
    } else {
      return;
    }
    update();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    document.querySelector<HTMLElement>(".cell-form [data-cancel]")?.click();
  });
  document.addEventListener("htmx:afterSettle", update);
  update();
}

function boxes(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>("td.select > input")];
}

/** Checks the rows between the last one and this one. */
function extendTo(box: HTMLInputElement): void {
  const all = boxes();
  const [from, to] = [all.indexOf(lastChecked ?? box), all.indexOf(box)].sort((a, b) => a - b);
  if (from === undefined || to === undefined || from < 0) return;
  for (const other of all.slice(from, to + 1)) other.checked = box.checked;
}

function update(): void {
  const all = boxes();
  const selected = all.filter((box) => box.checked).length;
  const heading = document.querySelector<HTMLInputElement>("[data-select-all]");
  if (heading) {
    heading.checked = selected > 0 && selected === all.length;
    heading.indeterminate = selected > 0 && selected < all.length;
  }
  const count = document.querySelector<HTMLElement>("[data-selected-count]");
  if (!count) return;
  count.dataset.label ??= count.textContent ?? "";
  count.textContent = `${count.dataset.label} ${selected}`;
}
