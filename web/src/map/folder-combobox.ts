// A combobox that finds a folder by reference or name.

import { dot, el } from "../dom";
import { t } from "../messages";
import { createCombobox, type Combobox } from "./combobox";
import type { FolderConfig, FolderMatch } from "./config";
import { getJson } from "./requests";

type FolderLabel = Pick<FolderConfig, "reference" | "name">;

export interface FolderCombobox extends Pick<Combobox<FolderLabel>, "input" | "list" | "isUnresolved"> {
  /** The reference of the selected folder. */
  selected(): string | null;
}

export interface FolderComboboxOptions {
  /** The id of the input; the ids of other elements start with it. */
  id: string;
  searchUrl: string;
  placeholder: string;
  initial?: FolderLabel | null;
}

/** The caller adds a label. */
export function createFolderCombobox(options: FolderComboboxOptions): FolderCombobox {
  const { id, searchUrl, placeholder, initial = null } = options;
  const combobox = createCombobox<FolderLabel & Partial<FolderMatch>>({
    id,
    placeholder,
    listLabel: t("script-map-folders"),
    emptyText: t("script-map-folder-no-match"),
    initial,
    search: (text, signal) => findFolders(searchUrl, text, signal),
    text: folderText,
    content: folderContent,
    isExact: ({ reference }, text) => reference.toLowerCase() === text,
  });
  return { ...combobox, selected: () => combobox.selected()?.reference ?? null };
}

export function findFolders(url: string, text: string, signal: AbortSignal): Promise<FolderMatch[]> {
  return getJson<FolderMatch[]>(`${url}?term=${encodeURIComponent(text)}`, signal);
}

export function folderText({ reference, name }: FolderLabel): string {
  return `${reference} · ${name}`;
}

export function folderContent({ reference, name, color = "" }: FolderLabel & { color?: string }): Node[] {
  return [dot(color), el("span", {}, name), el("span", { class: "ref" }, reference)];
}
