// A thin line at the top while a request is under way, only when it takes its time.

const PATIENCE = 300;

export function progress(): void {
  const line = document.createElement("div");
  line.className = "progress";
  line.setAttribute("aria-hidden", "true");
  document.body.append(line);
  let running = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = () => {
    running += 1;
    timer ??= setTimeout(() => line.classList.add("on"), PATIENCE);
  };
  const end = () => {
    running = Math.max(0, running - 1);
    if (running > 0) return;
    clearTimeout(timer);
    timer = undefined;
    line.classList.remove("on");
  };
  document.addEventListener("htmx:beforeRequest", begin);
  document.addEventListener("htmx:afterRequest", end);
  // A page that comes back from the browser's memory is not waiting for anything.
  addEventListener("pageshow", () => {
    running = 0;
    end();
  });
  document.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) begin();
  });
}
