// What pages do in the browser besides being pages. Each works without: links are links, forms are
// forms. Listeners are on the document, so that what htmx brings in later behaves like the rest.

import { confirmTyped } from "./app/confirm";
import { copyButtons } from "./app/copy";
import { dialogs } from "./app/dialogs";
import { filters } from "./app/filters";
import { keyboard } from "./app/keyboard";
import { menus } from "./app/menus";
import { pieces } from "./app/pieces";
import { progress } from "./app/progress";
import { relativeTimes, rememberZone } from "./app/times";
import { toasts } from "./app/toasts";

pieces();
rememberZone();
relativeTimes();
copyButtons();
menus();
dialogs();
toasts();
confirmTyped();
filters();
progress();
keyboard();
