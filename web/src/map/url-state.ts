// The part of the map's state that is in the URL fragment, so that a link shows the same map: the selected
// feature, the hidden layers and the table. MapLibre keeps the map's position there too, as `map`.

type Name = "feature" | "hidden" | "table";

export function readUrlState(name: Name): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

/** Sets or removes a value without adding an entry to the browser history. */
export function writeUrlState(name: Name, value: string | null): void {
  const parts = location.hash
    .slice(1)
    .split("&")
    .filter((part) => part !== "" && !part.startsWith(`${name}=`));
  // Slashes and commas are allowed in a fragment, and the link is easier to read with them.
  if (value !== null)
    parts.push(`${name}=${encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2C", ",")}`);
  const hash = parts.length > 0 ? `#${parts.join("&")}` : "";
  history.replaceState(history.state, "", location.pathname + location.search + hash);
}

/** Whether the URL contains a position, which MapLibre then uses. */
export function urlHasPosition(): boolean {
  return new URLSearchParams(location.hash.slice(1)).has("map");
}

/** Reloads the page when the user opens a link to another state of the map. */
export function reloadOnUrlChange(): void {
  addEventListener("hashchange", ({ oldURL }) => {
    const before = new URLSearchParams(new URL(oldURL).hash.slice(1));
    const names: Name[] = ["feature", "hidden", "table"];
    // A fragment without a position is a link within the page, such as "Skip to content".
    if (!urlHasPosition()) return;
    if (names.some((name) => readUrlState(name) !== before.get(name))) location.reload();
  });
}
