// Moments as people say them («3 h ago»), with the exact time in their own zone on hover.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
/** As the server writes them. */
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export function relativeTimes(): void {
  const all = () => document.querySelectorAll<HTMLTimeElement>("time[datetime]").forEach(tell);
  all();
  document.addEventListener("htmx:afterSettle", all);
  setInterval(all, MINUTE * 1000);
}

/** Tells the server in which zone days begin and end. */
export function rememberZone(): void {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; Secure" : "";
  if (zone) document.cookie = `tz=${zone}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

function tell(time: HTMLTimeElement): void {
  // A date is a date: it has no hour, and no zone.
  if (!time.dateTime.includes("T")) return;
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.valueOf())) return;
  time.title = exact.format(moment);
  const text = time.dataset.time === "exact" ? short.format(moment) : said(moment, new Date());
  if (time.textContent !== text) time.textContent = text;
}

/** How long ago, or until when. */
export function said(moment: Date, now: Date): string {
  const seconds = Math.round((now.valueOf() - moment.valueOf()) / 1000);
  const away = Math.abs(seconds);
  const ago = (text: string) => (seconds < 0 ? `in ${text}` : `${text} ago`);
  if (away < 45) return "just now";
  if (away < 45 * MINUTE) return ago(`${Math.max(1, Math.round(away / MINUTE))} min`);
  if (away < 20 * HOUR) return ago(`${Math.max(1, Math.round(away / HOUR))} h`);
  const days = Math.round((midnight(now) - midnight(moment)) / (DAY * 1000));
  if (days === 0) return ago(`${Math.round(away / HOUR)} h`);
  if (days === 1) return "yesterday";
  if (days === -1) return "tomorrow";
  if (Math.abs(days) < 14) return ago(`${Math.abs(days)} days`);
  const day = `${moment.getDate()} ${MONTHS[moment.getMonth()]}`;
  return moment.getFullYear() === now.getFullYear() ? day : `${day} ${moment.getFullYear()}`;
}

function midnight(moment: Date): number {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).valueOf();
}
