// Functions that create elements. Text always becomes a text node: data is never parsed as HTML.

type Attributes = Record<string, string | boolean | undefined>;
type Child = Node | string | null | undefined | false;

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

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
  const use = svgElement("use", { href: `${asset("icons.svg")}#${name}` });
  return svgElement("svg", { class: "icon", "aria-hidden": "true" }, use);
}

/** A square of a color. It is an SVG because the Content-Security-Policy forbids inline styles. */
export function swatch(color: string): SVGElement {
  const square = svgElement("rect", { width: "8", height: "8", rx: "1.5", fill: color });
  return svgElement("svg", { class: "swatch", viewBox: "0 0 8 8", "aria-hidden": "true" }, square);
}

/** The dot beside the name of a status. */
export function dot(color: string): SVGElement {
  const circle = svgElement("circle", { cx: "4", cy: "4", r: "4", fill: color });
  return svgElement("svg", { class: "dot", viewBox: "0 0 8 8", "aria-hidden": "true" }, circle);
}

export function button(
  label: string,
  options: { kind?: string; icon?: string; onlyIcon?: boolean } = {},
): HTMLButtonElement {
  const { kind = "", icon: iconName, onlyIcon = false } = options;
  const attributes = {
    type: "button",
    class: `button ${kind}${onlyIcon ? " only-icon" : ""}`.trim(),
    ...(onlyIcon ? { "aria-label": label, title: label } : {}),
  };
  return el("button", attributes, iconName ? icon(iconName) : null, onlyIcon ? null : label);
}

function svgElement(tag: string, attributes: Record<string, string>, ...children: Node[]): SVGElement {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
