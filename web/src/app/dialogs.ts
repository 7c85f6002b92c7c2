// Closes an open dialog with its `data-close` button or by a click on the backdrop. The browser itself
// handles Esc and the focus.

export function initDialogs(): void {
  document.addEventListener("click", (event) => {
    const target = event.target as Element;
    const dialog = target.closest("dialog");
    if (!dialog) return;
    if (target.closest("[data-close]")) {
      event.preventDefault();
      dialog.close();
    } else if (target === dialog && isOutside(dialog, event)) {
      dialog.close();
    }
  });
}

/** The backdrop belongs to the dialog element, but lies outside its box. */
function isOutside(dialog: HTMLDialogElement, { clientX, clientY }: MouseEvent): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
