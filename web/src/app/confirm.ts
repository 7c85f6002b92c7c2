// Deleting asks for the reference to be typed: `<form data-confirm="F-000123">` cannot be sent until its
// field `confirm` holds just that. The server asks again.

export function confirmTyped(): void {
  const all = () => document.querySelectorAll<HTMLFormElement>("form[data-confirm]").forEach(check);
  all();
  document.addEventListener("htmx:afterSettle", all);
  document.addEventListener("input", (event) => {
    const form = (event.target as Element).closest<HTMLFormElement>("form[data-confirm]");
    if (form) check(form);
  });
}

function check(form: HTMLFormElement): void {
  const field = form.elements.namedItem("confirm");
  const typed = field instanceof HTMLInputElement ? field.value.trim() : "";
  for (const button of form.querySelectorAll<HTMLButtonElement>("button:not([type='button'])")) {
    button.disabled = typed !== form.dataset.confirm;
  }
}
