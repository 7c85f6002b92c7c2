// `data-copy="SELECTOR"` copies the text of what it names, `data-copy-text` its own.

export function copyButtons(): void {
  document.addEventListener("click", async (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy], [data-copy-text]");
    if (!button) return;
    const { copy, copyText } = button.dataset;
    const source = copy ? document.querySelector<HTMLElement>(copy) : null;
    const text =
      copyText ?? (source instanceof HTMLInputElement ? source.value : source?.textContent?.trim());
    if (!text) return;
    try {
      await navigator.clipboard.writeText(text);
      say(button, "Copied");
    } catch {
      // Without permission, or on plain http to another machine: at least it is marked.
      if (source) getSelection()?.selectAllChildren(source);
      say(button, document.execCommand("copy") ? "Copied" : "Press Ctrl C");
    }
  });
}

/** Says it on the button for a moment, and to those who only hear. */
function say(button: HTMLElement, text: string): void {
  const before = button.dataset.label ?? button.textContent ?? "";
  button.dataset.label = before;
  button.setAttribute("aria-live", "polite");
  button.textContent = text;
  setTimeout(() => {
    button.textContent = before;
  }, 2000);
}
