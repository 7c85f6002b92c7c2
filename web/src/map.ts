// The map of a page: `<div id="map" data-config="…">`. Whole-screen with layers, details and drawing, or
// small beside a folder with what belongs to it. What a server must answer is in `map/config.ts`.

import { folded, showNoMap } from "./map/absent";
import { readConfig } from "./map/config";
import { largeMap } from "./map/large";
import { smallMap } from "./map/small";

const element = document.getElementById("map");
if (element) {
  try {
    const config = readConfig(element);
    // What was there for those without script.
    element.replaceChildren();
    if (!config.small) void largeMap(element, config);
    else if (matchMedia("(max-width: 760px)").matches) folded(element, () => void smallMap(element, config));
    else void smallMap(element, config);
  } catch (error) {
    showNoMap(element, error);
  }
}
