// `data-dialog="ID"` opens that dialog (a link goes to a page of its own without script), and
// `data-close` inside closes it. Esc and where the focus goes are the browser's own.

export function dialogs(): void {
  document.addEventListener("click", (event) => {
    const target = event.target as Element;
    const opener = target.closest<HTMLElement>("[data-dialog]");
    const dialog = opener && document.getElementById(opener.dataset.dialog ?? "");
    if (dialog instanceof HTMLDialogElement) {
      event.preventDefault();
      dialog.showModal();
      return;
    }
    const inside = target.closest("dialog");
    if (!inside) return;
    if (target.closest("[data-close]")) {
      event.preventDefault();
      inside.close();
    } else if (target === inside && beside(inside, event)) {
      inside.close();
    }
  });
}

/** A click on the dialog's own element but outside its box is one on what lies behind. */
function beside(dialog: HTMLDialogElement, { clientX, clientY }: MouseEvent): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
