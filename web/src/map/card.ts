// The card beside the map. It shows the selected feature or folder, or a form.

import { button, el } from "../dom";
import { t } from "../messages";

export interface Card {
  element: HTMLElement;
  show(title: string, ...content: (Node | string | null)[]): void;
  hide(): void;
}

export function createCard(onHide: () => void): Card {
  const element = el("section", { class: "map-card", "aria-live": "polite", hidden: true });
  const hide = () => {
    if (element.hidden) return;
    element.hidden = true;
    element.replaceChildren();
    onHide();
  };
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    hide();
  });
  return {
    element,
    hide,
    show(title, ...content) {
      const close = button(t("script-close"), { icon: "close", onlyIcon: true, kind: "plain" });
      close.addEventListener("click", hide);
      element.setAttribute("aria-label", title);
      element.replaceChildren(
        el("header", {}, el("h2", {}, title), close),
        ...content.filter((part) => part !== null),
      );
      element.hidden = false;
    },
  };
}
