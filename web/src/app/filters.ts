// `<form data-autosubmit>` is sent when a choice in it changes; its button is for those without script.
// Fields left empty stay out of the address, so that it reads well when sent to a colleague.

export function filters(): void {
  document.addEventListener("change", (event) => {
    const field = event.target as HTMLElement;
    const form = field.closest<HTMLFormElement>("form[data-autosubmit]");
    if (!form || !field.matches("select, input:is([type='checkbox'], [type='radio'], [type='date'])")) return;
    form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (form.method !== "get") return;
    const empty = [...form.elements].filter(
      (field) =>
        (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) && field.value === "",
    ) as (HTMLInputElement | HTMLSelectElement)[];
    for (const field of empty) field.disabled = true;
    // The request has been made when this runs; the fields are there for the next one.
    setTimeout(() => {
      for (const field of empty) field.disabled = false;
    });
  });
  const hide = () => {
    for (const button of document.querySelectorAll<HTMLElement>("[data-noscript]")) button.hidden = true;
  };
  hide();
  document.addEventListener("htmx:afterSettle", hide);
}
