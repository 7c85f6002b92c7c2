/** The token that every unsafe request carries. */
export function csrf(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csrf"]')?.content ?? "";
}
