// Shows times relative to now ("3 h ago"), with the exact time in the user's time zone as a tooltip.

import { t } from "../messages";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

export function initRelativeTimes(): void {
  const updateAll = () => document.querySelectorAll<HTMLTimeElement>("time[datetime]").forEach(update);
  updateAll();
  document.addEventListener("htmx:afterSettle", updateAll);
  setInterval(updateAll, MINUTE * 1000);
}

/** Stores the user's time zone in a cookie, so that the server knows when a day begins. */
export function storeTimeZone(): void {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  if (zone) document.cookie = `tz=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

function update(element: HTMLTimeElement): void {
  // A date without a time has no time zone either.
  if (!element.dateTime.includes("T")) return;
  const time = new Date(element.dateTime);
  if (Number.isNaN(time.valueOf())) return;
  element.title = exactFormat.format(time);
  const text = relativeTime(time, new Date());
  if (element.textContent !== text) element.textContent = text;
}

export function relativeTime(time: Date, now: Date): string {
  const seconds = Math.round((now.valueOf() - time.valueOf()) / 1000);
  const isPast = seconds >= 0;
  const distance = Math.abs(seconds);
  if (distance < 45) return isPast ? t("script-time-now") : t("script-time-soon");
  if (distance < 45 * MINUTE) {
    const minutes = Math.max(1, Math.round(distance / MINUTE));
    return isPast ? t("script-time-minutes-ago", { minutes }) : t("script-time-in-minutes", { minutes });
  }
  const days = Math.round((startOfDay(now) - startOfDay(time)) / (DAY * 1000));
  if (distance < 20 * HOUR || days === 0) {
    const hours = Math.max(1, Math.round(distance / HOUR));
    return isPast ? t("script-time-hours-ago", { hours }) : t("script-time-in-hours", { hours });
  }
  if (days === 1) return t("script-time-yesterday");
  if (days === -1) return t("script-time-tomorrow");
  if (days > 0 && days < 14) return t("script-time-days-ago", { days });
  if (days < 0 && days > -14) return t("script-time-in-days", { days: -days });
  const date = { day: time.getDate(), month: t("script-month", { month: time.getMonth() + 1 }) };
  if (time.getFullYear() === now.getFullYear()) return t("script-date-short", date);
  return t("script-date-with-year", { ...date, year: String(time.getFullYear()) });
}

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).valueOf();
}
