// The texts that scripts show. The page contains them as Fluent source: the messages of its language whose
// ids start with `script-`, from `crates/groma/locales/`.

import { FluentBundle, FluentResource, type FluentVariable } from "@fluent/bundle";

const locale = document.documentElement.lang || "en";
// Isolation marks around arguments matter only in text that mixes writing directions.
const bundle = new FluentBundle(locale, { useIsolating: false });
bundle.addResource(new FluentResource(document.getElementById("messages")?.textContent ?? ""));

/** Returns a message with its arguments inserted, or the id if there is no such message. */
export function t(id: string, args?: Record<string, FluentVariable>): string {
  const message = bundle.getMessage(id);
  if (!message?.value) {
    console.warn(`Missing message: ${id}`);
    return id;
  }
  return bundle.formatPattern(message.value, args);
}

/** Formats a number with a fixed number of decimals in the page's language. */
export function formatNumber(value: number, decimals: number): string {
  return value.toLocaleString(locale, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
