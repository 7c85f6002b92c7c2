// Imports of files: they can be dropped on lists, on the map and on its layers. The page of an import follows its
// progress.

import { button, el } from "../dom";
import { t } from "../messages";
import { csrfToken } from "./csrf";

/** The pause before the page is loaded again, in milliseconds. */
const RELOAD_DELAY = 3_000;

export function initImports(): void {
  initDropZone();
  initUploadForm();
  initProgress();
  initOptions();
}

/** What is below a file that is dragged: where it would be imported. */
interface Target {
  into: string;
  folder: string;
  label: string;
}

function targetOf(element: Element | null): Target | null {
  const target =
    element?.closest<HTMLElement>("[data-import-into]") ??
    document.querySelector<HTMLElement>("[data-import-page]");
  if (!target) return null;
  const { importInto, importPage, importFolder, importLabel } = target.dataset;
  return { into: importInto ?? importPage ?? "", folder: importFolder ?? "", label: importLabel ?? "" };
}

function initDropZone(): void {
  const label = el("p", {});
  const overlay = el("div", { class: "drop-overlay", hidden: true }, label);
  document.body.append(overlay);
  document.addEventListener("dragover", (event) => {
    const target = hasFiles(event) ? targetOf(event.target as Element) : null;
    if (!target) return;
    event.preventDefault();
    label.textContent =
      target.label === "" ? t("script-import-drop") : t("script-import-drop-into", { name: target.label });
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) overlay.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    overlay.hidden = true;
    const target = hasFiles(event) ? targetOf(event.target as Element) : null;
    if (!target || !event.dataTransfer) return;
    event.preventDefault();
    // The items are only there during the event.
    void filesOf([...event.dataTransfer.items]).then((files) => send(files, target));
  });
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") ?? false;
}

/** The files, and those in folders. */
async function filesOf(items: DataTransferItem[]): Promise<File[]> {
  const dropped = items
    .map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
    .filter((one) => one !== null);
  const files = dropped.map((one) => (one instanceof File ? [one] : filesOfEntry(one)));
  return (await Promise.all(files)).flat();
}

async function filesOfEntry(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    return [
      await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
    ];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const children = await new Promise<FileSystemEntry[]>((resolve, reject) =>
    reader.readEntries(resolve, reject),
  );
  const files = children.filter((child) => child.isFile);
  return (await Promise.all(files.map(filesOfEntry))).flat();
}

/** Sends a form with progress; without script, the browser does. */
function initUploadForm(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target as HTMLFormElement;
    if (!form.matches("[data-upload]")) return;
    event.preventDefault();
    const data = new FormData(form);
    const files = data.getAll("file").filter((file) => file instanceof File);
    send(files, { into: text(data, "into"), folder: text(data, "folder"), label: "" });
  });
}

function text(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}

/** Sends files, then opens the page of their import. */
function send(files: File[], { into, folder }: Target): void {
  const [first] = files;
  if (!first) return;
  const data = new FormData();
  data.append("into", into);
  data.append("folder", folder);
  for (const file of files) data.append("file", file, file.name);
  const request = new XMLHttpRequest();
  const bar = el("progress", { max: "100", "aria-label": t("script-import-sending", { name: first.name }) });
  const message = el("p", { role: "status" }, t("script-import-sending", { name: first.name }));
  const close = button(t("script-import-stop"), { kind: "small" });
  const panel = el("div", { class: "upload-panel" }, message, bar, close);
  close.addEventListener("click", () => {
    request.abort();
    panel.remove();
  });
  document.body.append(panel);
  const fail = (reason: string) => {
    message.textContent = reason;
    message.setAttribute("role", "alert");
    bar.remove();
    close.textContent = t("script-import-close");
  };
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.value = (100 * loaded) / Math.max(total, 1);
  });
  request.addEventListener("error", () => fail(t("script-import-failed")));
  request.addEventListener("load", () => {
    if (request.status < 400) location.assign(request.responseURL);
    else fail(messageOf(request.responseText));
  });
  request.open("POST", "/imports");
  request.setRequestHeader("X-CSRF-Token", csrfToken());
  request.setRequestHeader("Accept", "application/json");
  request.send(data);
}

function messageOf(response: string): string {
  try {
    return (JSON.parse(response) as { message: string }).message;
  } catch {
    return t("script-import-failed");
  }
}

/** Shows the progress of an import, and loads the page again when there is something else to see. */
function initProgress(): void {
  const section = document.querySelector<HTMLElement>("[data-import-events]");
  if (!section) return;
  const { importEvents, state, revision } = section.dataset;
  const bar = section.querySelector("progress");
  const line = section.querySelector("[data-import-progress]");
  const events = new EventSource(importEvents ?? "");
  // The browser does not connect again after an error page, for example of a proxy while the server restarts.
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(() => location.reload(), RELOAD_DELAY);
  });
  events.addEventListener("message", ({ data }) => {
    const event = JSON.parse(data as string) as {
      state: string;
      revision: number;
      text: string | null;
      percent: number | null;
    };
    if (event.state !== state || String(event.revision) !== revision) {
      events.close();
      location.reload();
      return;
    }
    if (line) line.textContent = event.text ?? "";
    if (event.percent === null) bar?.removeAttribute("value");
    else if (bar) bar.value = event.percent;
  });
}

/** Options that were changed must be checked before the import can start. */
function initOptions(): void {
  document.addEventListener("input", (event) => {
    const form = (event.target as Element).closest<HTMLFormElement>("[data-import-options]");
    const start = form?.querySelector<HTMLButtonElement>("[data-import-start]");
    if (!start) return;
    start.disabled = true;
    form?.querySelector("button[value=check]")?.classList.add("primary");
  });
}
