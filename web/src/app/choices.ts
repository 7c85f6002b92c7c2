// A choice that is saved by its own button: `<form data-choice>` with one select. The button appears when the
// choice differs from the saved one. Enter saves, Escape restores; the focus stays on the select.

const KEY = "focused-choice";

export function initChoices(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-choice]")) update(form);
  restoreFocus();
  document.addEventListener("change", (event) => {
    const form = choiceForm(event);
    if (form) update(form);
  });
  document.addEventListener("keydown", (event) => {
    const form = choiceForm(event);
    if (!form || !(event.target instanceof HTMLSelectElement)) return;
    if (event.key === "Enter" && isChanged(form)) {
      event.preventDefault();
      form.requestSubmit();
    } else if (event.key === "Escape" && isChanged(form)) {
      event.preventDefault();
      form.reset();
      update(form);
    }
  });
  document.addEventListener("submit", (event) => {
    const form = choiceForm(event);
    if (form) sessionStorage.setItem(KEY, form.action);
  });
}

function choiceForm(event: Event): HTMLFormElement | null {
  return (event.target as HTMLElement).closest<HTMLFormElement>("form[data-choice]");
}

function isChanged(form: HTMLFormElement): boolean {
  const options = [...(form.querySelector("select")?.options ?? [])];
  return options.some(({ selected, defaultSelected }) => selected !== defaultSelected);
}

function update(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLElement>("[type='submit']");
  if (button) button.hidden = !isChanged(form);
}

function restoreFocus(): void {
  const action = sessionStorage.getItem(KEY);
  if (!action) return;
  sessionStorage.removeItem(KEY);
  const form = [...document.forms].find((other) => other.action === action);
  form?.querySelector("select")?.focus();
}
