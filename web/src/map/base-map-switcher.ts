// The list from which the user chooses the base map. The browser remembers the choice.

import { el, icon } from "../dom";
import { t } from "../messages";
import { type BaseMaps, type BaseMapsConfig, BUILT_IN } from "./base-maps";
import { saveBaseMap } from "./saved-state";

/** Returns null if there is nothing to choose from and the user cannot add a base map. */
export function createBaseMapSwitcher(
  baseMaps: BaseMaps,
  { list, settings }: BaseMapsConfig,
): HTMLElement | null {
  if (list.length === 0) {
    if (!settings) return null;
    return el("p", { class: "map-base" }, el("a", { href: settings }, t("script-map-base-add")));
  }
  const names = [{ id: BUILT_IN, name: t("script-map-base-built-in") }, ...list];
  const options = names.map(({ id, name }) => el("option", { value: id }, name));
  const select = el("select", { "aria-label": t("script-map-base") }, ...options);
  const update = () => (select.value = baseMaps.current());
  select.addEventListener("change", () => {
    saveBaseMap(select.value);
    baseMaps.show(select.value);
  });
  baseMaps.onFallback(update);
  update();
  return el("div", { class: "map-base" }, icon("map"), select);
}
