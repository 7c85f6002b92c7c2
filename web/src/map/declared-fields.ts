// Inputs for the declared fields of a layer: by type, with choices, units, required marks and defaults.

import { el } from "../dom";
import { t } from "../messages";
import type { DeclaredField } from "./layer-style";
import { exponentNumber, parseNumber } from "./parse-coordinate";

type Value = string | number | boolean | null;

export interface DeclaredInputs {
  element: HTMLElement;
  /** The values of the fields, or null after marking what is wrong. A field without a value is absent. */
  read(): Record<string, unknown> | null;
  /** Marks the fields that the server rejected. Returns the problems of others. */
  showProblems(problems: Record<string, string>): string[];
}

interface FieldInput {
  field: DeclaredField;
  input: HTMLInputElement | HTMLSelectElement;
  error: HTMLElement;
  /** The value when the form opened, which may not fit the field. */
  original: unknown;
}

/** `values` are those of an existing feature, or null for a new one. */
export function createDeclaredInputs(
  fields: DeclaredField[],
  values: Record<string, unknown> | null,
): DeclaredInputs {
  const inputs = fields.map((field, index) => createInput(field, index, values));
  const mark = ({ input, error }: FieldInput, message: string) => {
    input.setAttribute("aria-invalid", "true");
    error.textContent = message;
  };
  const focusFirst = () => inputs.find(({ error }) => error.textContent !== "")?.input.focus();
  return {
    element: el("div", { class: "map-declared" }, ...inputs.map(labelledField)),
    read() {
      const result: Record<string, unknown> = {};
      for (const one of inputs) {
        one.input.removeAttribute("aria-invalid");
        one.error.textContent = "";
        const text = one.input.value.trim();
        if (values !== null && text === textOf(one.original)) {
          // What the user leaves as it is stays, even if it does not fit the field.
          if (one.original !== undefined) result[one.field.name] = one.original;
          continue;
        }
        const parsed = parse(one.field, text);
        if (typeof parsed === "object" && parsed !== null) mark(one, parsed.problem);
        else if (parsed !== null) result[one.field.name] = parsed;
        else if (one.field.required) mark(one, requiredMessage(one.field));
        // An absent value would become the default again.
        else if (one.field.default !== null) result[one.field.name] = null;
      }
      focusFirst();
      return inputs.some(({ error }) => error.textContent !== "") ? null : result;
    },
    showProblems(problems) {
      const others: string[] = [];
      for (const [name, message] of Object.entries(problems)) {
        const found = inputs.find(({ field }) => field.name === name);
        if (found) mark(found, message);
        else others.push(`${name}: ${message}`);
      }
      focusFirst();
      return others;
    },
  };
}

function requiredMessage({ name }: DeclaredField): string {
  return t("script-map-attribute-required", { name });
}

function createInput(
  field: DeclaredField,
  index: number,
  values: Record<string, unknown> | null,
): FieldInput {
  const id = `map-field-${index}`;
  // A new feature starts with the default as a value that the user can see and change.
  const original = values === null ? undefined : (values[field.name] ?? undefined);
  const shown = values === null ? (field.default ?? "") : original;
  const error = el("p", { class: "error", id: `${id}-error`, role: "alert" });
  const attributes = {
    id,
    "aria-describedby": error.id,
    ...(field.required ? { "aria-required": "true" } : {}),
  };
  const options = field.type === "boolean" ? ["true", "false"] : field.choices.map(String);
  if (options.length === 0) {
    const input = el("input", {
      ...attributes,
      type: field.type === "date" ? "date" : "text",
      autocomplete: "off",
      value: textOf(shown),
      ...(field.type === "number" || field.type === "integer" ? { inputmode: "decimal" } : {}),
    });
    return { field, input, error, original };
  }
  const value = textOf(shown);
  const select = el("select", attributes, el("option", { value: "" }, t("script-map-attribute-choose")));
  for (const option of options) select.append(el("option", { value: option }, optionLabel(field, option)));
  if (value !== "" && !options.includes(value)) select.append(el("option", { value }, value));
  select.value = value;
  return { field, input: select, error, original };
}

function optionLabel({ type }: DeclaredField, option: string): string {
  if (type !== "boolean") return option;
  return option === "true" ? t("script-map-attribute-yes") : t("script-map-attribute-no");
}

function labelledField({ field, input, error }: FieldInput): HTMLElement {
  const name = field.unit === null ? field.name : `${field.name} (${field.unit})`;
  const mark = field.required && el("span", { class: "required", "aria-hidden": "true" }, " *");
  return el("div", { class: "field" }, el("label", { for: input.id }, name, mark), input, error);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The value of a typed text, null if it is empty, or what is wrong with it. */
function parse(field: DeclaredField, text: string): Value | { problem: string } {
  const { name } = field;
  if (text === "") return null;
  if (field.type === "boolean") return text === "true";
  if (field.type === "text" || field.type === "date") return text;
  const number = parseNumber(text) ?? exponentNumber(text);
  if (number === null) return { problem: t("script-map-attribute-no-number", { name }) };
  if (field.type === "integer" && !Number.isInteger(number))
    return { problem: t("script-map-attribute-whole-number", { name }) };
  return number;
}
