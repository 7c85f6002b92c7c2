// Menus are `<details class="menu">`. Only one is open at a time; Esc, Tab and a click outside close it,
// and the arrow keys move through its items.

export function initMenus(): void {
  document.addEventListener(
    "toggle",
    (event) => {
      const menu = event.target as Element;
      if (menu instanceof HTMLDetailsElement && menu.matches(".menu[open]")) closeMenus(menu);
    },
    true,
  );
  document.addEventListener("click", (event) => {
    closeMenus((event.target as Element).closest<HTMLDetailsElement>(".menu[open]"));
  });
  document.addEventListener("keydown", (event) => {
    const menu = (event.target as Element).closest?.<HTMLDetailsElement>(".menu[open]");
    if (!menu) return;
    if (event.key === "Escape") {
      event.preventDefault();
      menu.open = false;
      menu.querySelector("summary")?.focus();
    } else if (event.target instanceof HTMLSelectElement) {
      // The arrow keys choose an option.
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      focusItem(menu, event.key === "ArrowDown" ? 1 : -1);
    }
  });
  // Closes a menu when Tab moves the focus out of it.
  document.addEventListener("focusin", (event) => {
    closeMenus((event.target as Element).closest?.<HTMLDetailsElement>(".menu[open]"));
  });
}

/** Closes every open menu, except one and the menus around it. */
function closeMenus(except: Element | null | undefined): void {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>(".menu[open]")) {
    if (menu !== except && !(except && menu.contains(except))) menu.open = false;
  }
}

function focusItem(menu: HTMLDetailsElement, offset: 1 | -1): void {
  const items = [...menu.querySelectorAll<HTMLElement>(".menu-panel :is(a, button, input, select)")];
  const focused = items.indexOf(document.activeElement as HTMLElement);
  const first = offset > 0 ? 0 : items.length - 1;
  items[focused < 0 ? first : (focused + offset + items.length) % items.length]?.focus();
}
