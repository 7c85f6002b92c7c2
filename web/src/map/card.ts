// The card beside the map: what was clicked, or the form of a shape that was drawn.

import { el, button } from "./elements";

export interface Card {
  element: HTMLElement;
  show(title: string, ...content: (Node | string | null)[]): void;
  hide(): void;
}

export function card(onClose: () => void): Card {
  const element = el("section", { class: "map-card", "aria-live": "polite", hidden: true });
  const hide = () => {
    if (element.hidden) return;
    element.hidden = true;
    element.replaceChildren();
    onClose();
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
      const close = button("Close", { icon: "close", onlyIcon: true, kind: "plain" });
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
