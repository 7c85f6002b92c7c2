// A thin bar at the top of the page, shown while a request takes longer than 300 ms.

const DELAY = 300;

export function initProgressBar(): void {
  const bar = document.createElement("div");
  bar.className = "progress";
  bar.setAttribute("aria-hidden", "true");
  document.body.append(bar);
  let pending = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = () => {
    pending += 1;
    timer ??= setTimeout(() => bar.classList.add("on"), DELAY);
  };
  const finish = () => {
    pending = Math.max(0, pending - 1);
    if (pending > 0) return;
    clearTimeout(timer);
    timer = undefined;
    bar.classList.remove("on");
  };
  document.addEventListener("htmx:beforeRequest", start);
  document.addEventListener("htmx:afterRequest", finish);
  document.addEventListener("submit", (event) => {
    // A download leaves the page as it is.
    const isDownload = (event.target as Element).matches("[data-download]");
    if (!event.defaultPrevented && !isDownload) start();
  });
  // The browser may restore this page from its cache in the state in which the user left it.
  addEventListener("pageshow", () => {
    pending = 0;
    finish();
  });
}
