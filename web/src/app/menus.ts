// Menus are `<details class="menu">`: one is open at a time, Esc and a click beside it close it, the
// arrows go through it.

export function menus(): void {
  document.addEventListener(
    "toggle",
    (event) => {
      const menu = event.target as Element;
      if (menu instanceof HTMLDetailsElement && menu.matches(".menu[open]")) closeAll(menu);
    },
    true,
  );
  document.addEventListener("click", (event) => {
    const inside = (event.target as Element).closest<HTMLDetailsElement>(".menu[open]");
    closeAll(inside);
  });
  document.addEventListener("keydown", (event) => {
    const menu = (event.target as Element).closest?.<HTMLDetailsElement>(".menu[open]");
    if (!menu) return;
    if (event.key === "Escape") {
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(menu, event.key === "ArrowDown" ? 1 : -1);
    }
  });
  // On leaving by Tab, it closes behind.
  document.addEventListener("focusin", (event) => {
    closeAll((event.target as Element).closest?.<HTMLDetailsElement>(".menu[open]") ?? null);
  });
}

function closeAll(except: Element | null | undefined): void {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>(".menu[open]")) {
    if (menu !== except && !(except && menu.contains(except))) menu.open = false;
  }
}

function step(menu: HTMLDetailsElement, by: number): void {
  const items = [...menu.querySelectorAll<HTMLElement>(".menu-panel :is(a, button, input, select)")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : (at + by + items.length) % items.length;
  items[next]?.focus();
}
