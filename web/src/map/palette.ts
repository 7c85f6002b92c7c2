// The colors of the map. MapLibre cannot read style sheets, so the colors of css/base.css that it needs
// are repeated here for both themes.

export interface Palette {
  water: string;
  land: string;
  border: string;
  grid: string;
  label: string;
  seaLabel: string;
  halo: string;
  text: string;
  accent: string;
  outline: string;
}

const LIGHT: Palette = {
  water: "#dde6e9",
  land: "#f4f3ec",
  border: "#c9c3b3",
  grid: "#d3d5cd",
  label: "#626b79",
  seaLabel: "#4a6a7a",
  halo: "#f4f3ec",
  text: "#18202b",
  accent: "#b83a22",
  outline: "#ffffff",
};

const DARK: Palette = {
  water: "#10151b",
  land: "#1b222b",
  border: "#333e4a",
  grid: "#28313b",
  label: "#929ba8",
  seaLabel: "#7f9bb0",
  halo: "#1b222b",
  text: "#e8eaed",
  accent: "#f0806a",
  outline: "#12161c",
};

const dark = matchMedia("(prefers-color-scheme: dark)");

export function palette(): Palette {
  const chosen = document.documentElement.dataset["theme"];
  const isDark = chosen ? chosen === "dark" : dark.matches;
  return isDark ? DARK : LIGHT;
}

/** Calls `apply` now, and again when the theme changes. */
export function withPalette(apply: (colors: Palette) => void): void {
  apply(palette());
  dark.addEventListener("change", () => apply(palette()));
}
