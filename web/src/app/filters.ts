// Filter forms. `<form data-autosubmit>` is submitted when a choice in it changes; its button, marked
// `data-noscript`, is hidden. Empty fields are left out of the URL, which keeps links short.

export function initFilterForms(): void {
  document.addEventListener("change", (event) => {
    const field = event.target as HTMLElement;
    const form = field.closest<HTMLFormElement>("form[data-autosubmit]");
    if (!form || !field.matches("select, input:not([type='search'])")) return;
    form.requestSubmit();
  });
  document.addEventListener("input", (event) => {
    const field = event.target as HTMLInputElement;
    const form = field.closest<HTMLFormElement>("form[data-autosubmit]");
    // A suggestion is chosen as a whole; typing it takes longer.
    const isSuggestion = (event as InputEvent).inputType === "insertReplacementText";
    if (form && field.list && isSuggestion) form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "get") return;
    const empty = [...form.elements].filter(
      (field) =>
        (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) && field.value === "",
    ) as (HTMLInputElement | HTMLSelectElement)[];
    for (const field of empty) field.disabled = true;
    // The browser has read the form by then.
    setTimeout(() => {
      for (const field of empty) field.disabled = false;
    });
  });
  const hideButtons = () => {
    for (const button of document.querySelectorAll<HTMLElement>("[data-noscript]")) button.hidden = true;
  };
  hideButtons();
  document.addEventListener("htmx:afterSettle", hideButtons);
}
