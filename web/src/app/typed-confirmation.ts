// Deleting requires typing the reference: `<form data-confirm="F-000123">` can be submitted only when its
// `confirm` field contains exactly that text. The server checks it again.

export function initTypedConfirmations(): void {
  const updateAll = () => document.querySelectorAll<HTMLFormElement>("form[data-confirm]").forEach(update);
  updateAll();
  document.addEventListener("htmx:afterSettle", updateAll);
  document.addEventListener("input", (event) => {
    const form = (event.target as Element).closest<HTMLFormElement>("form[data-confirm]");
    if (form) update(form);
  });
}

function update(form: HTMLFormElement): void {
  const field = form.elements.namedItem("confirm");
  const text = field instanceof HTMLInputElement ? field.value.trim() : "";
  for (const button of form.querySelectorAll<HTMLButtonElement>("button:not([type='button'])")) {
    button.disabled = text !== form.dataset.confirm;
  }
}
