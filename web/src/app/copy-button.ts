// `<button data-copy="SELECTOR">` copies the text of the selected element to the clipboard.

import { t } from "../messages";

export function initCopyButtons(): void {
  document.addEventListener("click", async (event) => {
    const button = (event.target as Element).closest<HTMLElement>("[data-copy]");
    if (!button) return;
    const source = document.querySelector<HTMLElement>(button.dataset.copy ?? "");
    const text = source instanceof HTMLInputElement ? source.value : source?.textContent?.trim();
    if (!source || !text) return;
    try {
      await navigator.clipboard.writeText(text);
      showFeedback(button, t("script-copied"));
    } catch {
      // The clipboard API needs permission and HTTPS. Without it, select the text and try the old command.
      getSelection()?.selectAllChildren(source);
      showFeedback(button, document.execCommand("copy") ? t("script-copied") : t("script-copy-manually"));
    }
  });
}

/** Shows a text on the button for two seconds and announces it to screen readers. */
function showFeedback(button: HTMLElement, text: string): void {
  const label = button.dataset.label ?? button.textContent ?? "";
  button.dataset.label = label;
  button.setAttribute("aria-live", "polite");
  button.textContent = text;
  setTimeout(() => {
    button.textContent = label;
  }, 2000);
}
