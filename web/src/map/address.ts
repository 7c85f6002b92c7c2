// What the address of the map says behind its «#», so that a link shows a colleague the same: which
// feature is looked at, which layers are hidden. Where one looks is there too; MapLibre keeps that part.

import { addressHasView } from "./remembered";

type Name = "feature" | "hidden";

export function readAddress(name: Name): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

/** Puts a value there, or takes it away; it is no step for Back. */
export function writeAddress(name: Name, value: string | null): void {
  const parts = location.hash
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && !part.startsWith(`${name}=`));
  // Slashes and commas may stand there as they are, and read better.
  if (value !== null)
    parts.push(`${name}=${encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2C", ",")}`);
  const hash = parts.length > 0 ? `#${parts.join("&")}` : "";
  history.replaceState(history.state, "", location.pathname + location.search + hash);
}

/** Another link of the map, opened where it is open already, is read from the start. */
export function followAddress(): void {
  addEventListener("hashchange", ({ oldURL }) => {
    const before = new URLSearchParams(new URL(oldURL).hash.slice(1));
    const names: Name[] = ["feature", "hidden"];
    // An anchor of the page is no link of the map.
    if (!addressHasView()) return;
    if (names.some((name) => readAddress(name) !== before.get(name))) location.reload();
  });
}
