// Everything by keyboard: `/` searches, `g` and a letter goes somewhere, `n` makes a new one, `j` and `k`
// walk through rows, Enter opens one, `?` tells all this. None of it while someone types.

/** Where `g` and a letter go; a link of the page with `data-go="x"` says otherwise. */
const PLACES: Record<string, { name: string; href: string }> = {
  d: { name: "Dashboard", href: "/" },
  f: { name: "Folders", href: "/folders" },
  a: { name: "Assignments", href: "/assignments" },
  e: { name: "Expenses", href: "/expenses" },
  b: { name: "Budgets", href: "/budgets" },
  m: { name: "Map", href: "/map" },
  s: { name: "Settings", href: "/settings" },
};

/** How long the second key may take. */
const PAUSE = 1500;

let going = 0;

export function keyboard(): void {
  // Before someone is in, there is nowhere to go.
  if (!document.querySelector(".rail")) return;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const target = event.target as HTMLElement;
    if (typing(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (act(event.key, target)) event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (!(event.target as Element).closest("[data-keys]")) return;
    event.preventDefault();
    showKeys();
  });
}

function typing(target: HTMLElement): boolean {
  return target.matches(
    "input:not([type='checkbox'], [type='radio'], [type='button']), select, textarea, [contenteditable]",
  );
}

function act(key: string, target: HTMLElement): boolean {
  if (performance.now() < going) {
    going = 0;
    const place = PLACES[key];
    if (place) return go(key, place.href);
  }
  switch (key) {
    case "g":
      going = performance.now() + PAUSE;
      return true;
    case "/":
      return focus('[data-key="/"], .search input');
    case "n":
      return press('[data-key="n"]');
    case "e":
      return press('[data-key="e"]');
    case "j":
      return step(1);
    case "k":
      return step(-1);
    case "Enter":
      // What has the focus is pressed by the browser.
      return target === document.body && open();
    case "?":
      showKeys();
      return true;
    case "Escape":
      document.querySelector(".here")?.classList.remove("here");
      return false;
    default:
      return false;
  }
}

function go(letter: string, href: string): boolean {
  const link = document.querySelector<HTMLAnchorElement>(`a[data-go="${letter}"]`);
  location.assign(link?.href ?? href);
  return true;
}

function focus(selector: string): boolean {
  const field = document.querySelector<HTMLInputElement>(selector);
  field?.focus();
  field?.select();
  return field !== null;
}

function press(selector: string): boolean {
  const button = document.querySelector<HTMLElement>(selector);
  button?.click();
  return button !== null;
}

function rows(): HTMLTableRowElement[] {
  const listed = document.querySelectorAll<HTMLTableRowElement>("table.list tbody tr");
  const found = listed.length > 0 ? listed : document.querySelectorAll<HTMLTableRowElement>("main tbody tr");
  return [...found].filter((row) => linkOf(row));
}

function linkOf(row: Element): HTMLAnchorElement | null {
  return row.querySelector<HTMLAnchorElement>("td.name a, a");
}

/** To the next row: the focus is on its link, so that the browser scrolls and readers read. */
function step(by: number): boolean {
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("here"));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return false;
  document.querySelector(".here")?.classList.remove("here");
  next.classList.add("here");
  linkOf(next)?.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function open(): boolean {
  const link = document.querySelector(".here");
  const to = link && linkOf(link);
  to?.click();
  return Boolean(to);
}

function showKeys(): void {
  let dialog = document.querySelector<HTMLDialogElement>("#keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-labelledby", "keys-title");
    const title = Object.assign(document.createElement("h2"), { id: "keys-title", textContent: "Keys" });
    const list = document.createElement("dl");
    list.className = "keys";
    const lines: [string, string][] = [
      ["Search", "/"],
      ["New", "n"],
      ["Edit", "e"],
      ["Next row", "j"],
      ["Previous row", "k"],
      ["Open the row", "Enter"],
      ...Object.entries(PLACES).map(([letter, { name }]): [string, string] => [name, `g ${letter}`]),
      ["These keys", "?"],
      ["Close", "Esc"],
    ];
    for (const [name, keys] of lines) list.append(line(name, keys));
    const actions = document.createElement("div");
    actions.className = "form-actions";
    const close = document.createElement("button");
    close.type = "button";
    close.className = "button";
    close.dataset.close = "";
    close.textContent = "Close";
    actions.append(close);
    dialog.append(title, list, actions);
    document.body.append(dialog);
  }
  dialog.showModal();
}

function line(name: string, keys: string): HTMLElement {
  const row = document.createElement("div");
  const dt = document.createElement("dt");
  dt.textContent = name;
  const dd = document.createElement("dd");
  keys.split(" ").forEach((key, index) => {
    if (index > 0) dd.append(" ");
    dd.append(Object.assign(document.createElement("kbd"), { textContent: key }));
  });
  row.append(dt, dd);
  return row;
}
