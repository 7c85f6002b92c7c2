// The colours of the map. MapLibre does not read style sheets, so those it paints with are here, for
// light and for dark; they are the sheet's own.

export interface Palette {
  water: string;
  land: string;
  coast: string;
  border: string;
  grid: string;
  label: string;
  halo: string;
  ink: string;
  accent: string;
  ring: string;
}

const LIGHT: Palette = {
  water: "#dde6e9",
  land: "#f4f3ec",
  coast: "#a9b8be",
  border: "#c9c3b3",
  grid: "#d3d5cd",
  label: "#626b79",
  halo: "#f4f3ec",
  ink: "#18202b",
  accent: "#b83a22",
  ring: "#ffffff",
};

const DARK: Palette = {
  water: "#10151b",
  land: "#1b222b",
  coast: "#3d4a57",
  border: "#333e4a",
  grid: "#28313b",
  label: "#929ba8",
  halo: "#1b222b",
  ink: "#e8eaed",
  accent: "#f0806a",
  ring: "#12161c",
};

const dark = matchMedia("(prefers-color-scheme: dark)");

export function palette(): Palette {
  return dark.matches ? DARK : LIGHT;
}

export function onThemeChange(then: () => void): void {
  dark.addEventListener("change", then);
}
