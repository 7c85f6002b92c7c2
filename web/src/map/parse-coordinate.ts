// Parses the numbers and coordinates that users type. A decimal comma is accepted.

import type { Position } from "geojson";

/** Returns null if the text is not a number. */
export function parseNumber(text: string): number | null {
  const trimmed = text.trim().replace(/^\u2212/, "-");
  return /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/.test(trimmed) ? Number(trimmed.replace(",", ".")) : null;
}

/** Parses a bearing in degrees, or in gon with `g` or `gon` after it. Returns degrees. */
export function parseBearing(text: string): number | null {
  const degrees = text.trim().replace(/°$/, "");
  const gon = degrees.match(/^(.*?)\s*g(on)?$/i)?.[1];
  if (gon === undefined) return parseNumber(degrees);
  const parsed = parseNumber(gon);
  return parsed === null ? null : parsed * 0.9;
}

/**
 * Parses a latitude and a longitude, such as `48.85, 2.35`, `48,85 2,35`, `2.35 E 48.85 N` or
 * `48°51'24" N 2°21'3" E`. Returns null if the text is not a coordinate.
 */
export function parseCoordinate(text: string): Position | null {
  // French writes O for west.
  const normalized = text.trim().toUpperCase().replaceAll("\u2212", "-").replaceAll("O", "W");
  if (!/^[-+\d.,;:\s°º'’′"”″NSEW/]+$/.test(normalized)) return null;
  const letters = normalized.match(/[NSEW]/g) ?? [];
  const parts = letters.length === 0 ? splitByCount(normalized) : splitByLetters(normalized);
  const [first, second] = parts ?? [];
  if (!first || !second) return null;
  const isSwapped = /[EW]/.test(letters[0] ?? "");
  if (letters.length > 0 && (letters.length !== 2 || isSwapped === /[EW]/.test(letters[1] ?? "")))
    return null;
  const [latitude, longitude] = isSwapped ? [angle(second), angle(first)] : [angle(first), angle(second)];
  if (latitude === null || longitude === null) return null;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [longitude, latitude] : null;
}

/** Numbers with an optional sign. A comma or point is decimal only if a digit follows. */
const NUMBERS = /[+-]?\d+(?:[.,]\d+)?/g;

/** Without hemispheres, each half has the same number of numbers: degrees, minutes and seconds. */
function splitByCount(text: string): string[][] | null {
  const numbers = text.match(NUMBERS) ?? [];
  // "48,2" can only mean two integers.
  if (numbers.length === 1) return /^\d+,\d+$/.test(text) ? text.split(",").map((part) => [part]) : null;
  if (numbers.length % 2 === 1) return null;
  const half = numbers.length / 2;
  return [numbers.slice(0, half), numbers.slice(half)];
}

/** Each letter ends its half (`48 N 2 E`), or starts it (`N 48 E 2`). A letter becomes a sign. */
function splitByLetters(text: string): string[][] | null {
  const halves = /^[NSEW]/.test(text) ? text.match(/[NSEW][^NSEW]*/g) : (text.match(/[^NSEW]*[NSEW]/g) ?? []);
  if (halves?.length !== 2 || halves.join("").length !== text.length) return null;
  return halves.map((half) => {
    const [degrees = "", ...rest] = half.match(NUMBERS) ?? [];
    // Both a sign and a letter would be ambiguous.
    if (/[+-]/.test(degrees)) return [];
    return [/[SW]/.test(half) ? `-${degrees}` : degrees, ...rest];
  });
}

/** Degrees, and optional minutes and seconds. */
function angle(parts: string[]): number | null {
  if (parts.length < 1 || parts.length > 3) return null;
  const [degrees = 0, minutes = 0, seconds = 0] = parts.map((part) => Math.abs(parseNumber(part) ?? NaN));
  const isFraction = (part: string | undefined) => /[.,]/.test(part ?? "");
  const isValid = minutes < 60 && seconds < 60 && !parts.slice(0, -1).some(isFraction);
  const hasLaterSign = parts.slice(1).some((part) => /^[+-]/.test(part));
  if (!isValid || hasLaterSign || Number.isNaN(degrees + minutes + seconds)) return null;
  const value = degrees + minutes / 60 + seconds / 3600;
  return parts[0]?.startsWith("-") ? -value : value;
}

/** Large and small numbers of existing features are shown with an exponent, such as `1e-7`. */
export function exponentNumber(text: string): number | null {
  return /^-?\d+(\.\d+)?e[+-]?\d+$/.test(text) ? Number(text) : null;
}
