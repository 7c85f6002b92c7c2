// Forms that add a record inside a folder's page. After a record is added, the form stays open for the next
// one. If the values are invalid, the form is submitted again as a page, which shows what is wrong.

export function initQuickAdd(): void {
  let opened: string | undefined;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = (event as CustomEvent<SwapDetail>).detail;
    const form = requestConfig.elt;
    if (!(form instanceof HTMLFormElement) || !form.matches(".quick-add form")) return;
    if (xhr.status === 400) {
      event.preventDefault();
      form.submit();
    } else {
      opened = form.closest<HTMLElement>(".quick-add")?.dataset.kind;
    }
  });
  document.addEventListener("htmx:afterSettle", () => {
    if (!opened) return;
    const details = document.querySelector<HTMLDetailsElement>(`.quick-add[data-kind="${opened}"]`);
    opened = undefined;
    if (!details) return;
    details.open = true;
    details.querySelector<HTMLElement>("input:not([type='hidden'])")?.focus();
  });
}

interface SwapDetail {
  xhr: XMLHttpRequest;
  requestConfig: { elt: Element };
}
