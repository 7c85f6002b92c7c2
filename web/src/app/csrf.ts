/** The CSRF token, which every request that changes data must carry. */
export function csrfToken(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csrf"]')?.content ?? "";
}
