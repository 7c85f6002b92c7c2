// Small builders of elements: nothing of a record is ever read as HTML.

type Attributes = Record<string, string | boolean | undefined>;
type Child = Node | string | null | undefined | false;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (typeof value === "string") element.setAttribute(name, value);
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

export function icon(name: string): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `${asset("icons.svg")}#${name}`);
  svg.append(use);
  return svg;
}

/** A colour beside its word, by an attribute that the Content-Security-Policy allows. */
export function swatch(color: string, round = false): SVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", round ? "dot" : "swatch");
  svg.setAttribute("viewBox", "0 0 8 8");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS(space, round ? "circle" : "rect");
  const sizes = round ? { cx: "4", cy: "4", r: "4" } : { width: "8", height: "8", rx: "1.5" };
  for (const [name, value] of Object.entries({ ...sizes, fill: color })) shape.setAttribute(name, value);
  svg.append(shape);
  return svg;
}

export function button(
  label: string,
  options: { kind?: string; icon?: string; onlyIcon?: boolean } = {},
): HTMLButtonElement {
  const { kind = "", icon: name, onlyIcon = false } = options;
  const attributes = {
    type: "button",
    class: `button ${kind}${onlyIcon ? " only-icon" : ""}`.trim(),
    ...(onlyIcon ? { "aria-label": label, title: label } : {}),
  };
  return el("button", attributes, name ? icon(name) : null, onlyIcon ? null : label);
}
