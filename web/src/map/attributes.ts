// The attributes of a feature as a list of names and typed values that the user can edit.

import { button, el } from "../dom";
import { t } from "../messages";
import { exponentNumber, parseNumber } from "./parse-coordinate";

type Attributes = Record<string, unknown>;
type ValueType = "text" | "number" | "boolean";

export interface AttributeEditor {
  element: HTMLElement;
  /** The attributes as the user left them, or null after marking what is wrong. */
  read(): Attributes | null;
}

interface Row {
  element: HTMLElement;
  name: HTMLInputElement;
  type: HTMLSelectElement;
  value(): HTMLInputElement | HTMLSelectElement;
}

/**
 * Lists and objects cannot be edited here and stay as they are. `reserved` are names of attributes that the
 * form has other inputs for.
 */
export function createAttributeEditor(
  attributes: Attributes,
  title: string,
  reserved: () => string[],
): AttributeEditor {
  const others = Object.entries(attributes).filter(([, value]) => !isEditable(value));
  const list = el("div", { class: "map-attributes" });
  const error = el("p", { class: "error", role: "alert" });
  let rows: Row[] = [];
  const addRow = (name: string, value: unknown): Row => {
    const row = createRow(name, value, () => {
      rows = rows.filter((other) => other !== row);
      row.element.remove();
      add.focus();
    });
    rows.push(row);
    list.append(row.element);
    return row;
  };
  const add = button(t("script-map-attribute-add"), { icon: "plus", kind: "plain small" });
  add.addEventListener("click", () => addRow("", "").name.focus());
  for (const [name, value] of Object.entries(attributes)) if (isEditable(value)) addRow(name, value);

  const reject = (input: HTMLElement, message: string): null => {
    input.setAttribute("aria-invalid", "true");
    error.textContent = message;
    input.focus();
    return null;
  };
  return {
    element: el("fieldset", { class: "field" }, el("legend", {}, title), list, error, add),
    read() {
      error.textContent = "";
      const result: Attributes = {};
      for (const { name, type, value } of rows) {
        for (const input of [name, value()]) input.removeAttribute("aria-invalid");
        const key = name.value.trim();
        const text = value().value.trim();
        // An empty row that was only added.
        if (key === "" && text === "") continue;
        if (key === "") return reject(name, t("script-map-attribute-no-name"));
        const isTaken = reserved().includes(key) || key in result || others.some(([other]) => other === key);
        if (isTaken) return reject(name, t("script-map-attribute-duplicate", { name: key }));
        const parsed = parseValue(type.value as ValueType, text);
        if (parsed === null) return reject(value(), t("script-map-attribute-no-number", { name: key }));
        result[key] = parsed;
      }
      return { ...Object.fromEntries(others), ...result };
    },
  };
}

function createRow(name: string, value: unknown, onRemove: () => void): Row {
  const nameInput = el("input", {
    type: "text",
    value: name,
    maxlength: "200",
    autocomplete: "off",
    placeholder: t("script-map-name"),
    "aria-label": t("script-map-attribute-name"),
  });
  const type = el(
    "select",
    { "aria-label": t("script-map-attribute-type") },
    el("option", { value: "text" }, t("script-map-attribute-text")),
    el("option", { value: "number" }, t("script-map-attribute-number")),
    el("option", { value: "boolean" }, t("script-map-attribute-boolean")),
  );
  type.value = typeOf(value);
  let input = valueInput(typeOf(value), value === null ? "" : String(value));
  type.addEventListener("change", () => {
    const changed = valueInput(type.value as ValueType, input.value);
    input.replaceWith(changed);
    input = changed;
  });
  const label = t("script-map-attribute-remove", { name });
  const remove = button(label, { icon: "close", onlyIcon: true, kind: "plain" });
  remove.addEventListener("click", onRemove);
  const element = el("div", { class: "map-attribute" }, nameInput, type, input, remove);
  return { element, name: nameInput, type, value: () => input };
}

function valueInput(type: ValueType, value: string): HTMLInputElement | HTMLSelectElement {
  const label = { "aria-label": t("script-map-attribute-value") };
  if (type !== "boolean")
    return el("input", {
      type: "text",
      value,
      autocomplete: "off",
      placeholder: t("script-map-attribute-value-placeholder"),
      ...(type === "number" ? { inputmode: "decimal" } : {}),
      ...label,
    });
  const select = el(
    "select",
    label,
    el("option", { value: "true" }, t("script-map-attribute-yes")),
    el("option", { value: "false" }, t("script-map-attribute-no")),
  );
  select.value = value === "false" ? "false" : "true";
  return select;
}

function isEditable(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

function typeOf(value: unknown): ValueType {
  return typeof value === "number" || typeof value === "boolean" ? (typeof value as ValueType) : "text";
}

/** Returns null if the text is not a number. */
function parseValue(type: ValueType, text: string): string | number | boolean | null {
  if (type === "number") return parseNumber(text) ?? exponentNumber(text);
  return type === "boolean" ? text === "true" : text;
}
