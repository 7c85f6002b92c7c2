// Starts the map of a page: `<div id="map" data-config="…">`. The map page shows the full map with layers,
// details and drawing tools; a folder's page shows a small map of that folder. `map/config.ts` describes
// the configuration and the responses of the server.

import { readConfig } from "./map/config";
import { showFolderMap } from "./map/folder-map";
import { showFullMap } from "./map/full-map";
import { showMapButton, showMapError } from "./map/placeholder";

const element = document.getElementById("map");
if (element) {
  try {
    const config = readConfig(element);
    // Removes the <noscript> text.
    element.replaceChildren();
    if (!config.small) void showFullMap(element, config);
    else if (matchMedia("(max-width: 760px)").matches)
      showMapButton(element, () => void showFolderMap(element, config));
    else void showFolderMap(element, config);
  } catch (error) {
    showMapError(element, error);
  }
}
