// Forms that add a record inside a folder's page. After a record is added, the form stays open for the next
// one, and the other forms keep what was typed. If the values are invalid, the form is submitted again as a
// page, which shows what is wrong.

/** A form to open again after the page was updated. */
interface OpenForm {
  kind: string;
  /** The typed values; none for the form that was submitted. */
  values: [string, string][];
  hasFocus: boolean;
}

export function initQuickAdd(): void {
  let opened: OpenForm[] = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, requestConfig } = (event as CustomEvent<SwapDetail>).detail;
    const form = requestConfig.elt;
    if (!(form instanceof HTMLFormElement) || !form.matches(".quick-add form")) return;
    if (xhr.status === 400) {
      event.preventDefault();
      form.submit();
      return;
    }
    opened = [...document.querySelectorAll<HTMLDetailsElement>(".quick-add[open]")].map((details) => {
      const hasFocus = details.contains(form);
      return { kind: details.dataset.kind ?? "", values: hasFocus ? [] : typedValues(details), hasFocus };
    });
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const { kind, values, hasFocus } of opened) {
      const details = document.querySelector<HTMLDetailsElement>(`.quick-add[data-kind="${kind}"]`);
      if (!details) continue;
      for (const [name, value] of values) {
        const field = details.querySelector<HTMLInputElement>(`[name="${name}"]`);
        if (field) field.value = value;
      }
      details.open = true;
      if (hasFocus) firstField(details)?.focus();
    }
    opened = [];
  });
  document.addEventListener("click", (event) => {
    const details = (event.target as Element).closest?.<HTMLDetailsElement>(".quick-add:not([open])");
    // The form is in the page once the click has opened it.
    if (details) setTimeout(() => firstField(details)?.focus());
  });
}

function typedValues(details: HTMLElement): [string, string][] {
  const fields = details.querySelectorAll<HTMLInputElement>(":is(input, select):not([type='hidden'])");
  return [...fields].map(({ name, value }) => [name, value]);
}

function firstField(details: HTMLElement): HTMLElement | null {
  return details.querySelector<HTMLElement>("input:not([type='hidden'])");
}

interface SwapDetail {
  xhr: XMLHttpRequest;
  requestConfig: { elt: Element };
}
