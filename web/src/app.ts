// Behavior added to every page. Pages work without script: links are links and forms are forms.
// Listeners are attached to the document, so content that htmx inserts later behaves the same.

import { initChoices } from "./app/choices";
import { initCopyButtons } from "./app/copy-button";
import { initDialogs } from "./app/dialogs";
import { initDrafts } from "./app/drafts";
import { initFilterForms } from "./app/filters";
import { initHtmx } from "./app/htmx";
import { initImports } from "./app/imports";
import { initKeyboardShortcuts } from "./app/keyboard";
import { initMenus } from "./app/menus";
import { initPasskeys } from "./app/passkeys";
import { initProgressBar } from "./app/progress-bar";
import { initQuickAdd } from "./app/quick-add";
import { initQuickSearch } from "./app/quick-search";
import { initRelativeTimes, storeTimeZone } from "./app/relative-time";
import { initSelection } from "./app/selection";
import { initToasts } from "./app/toasts";
import { initTypedConfirmations } from "./app/typed-confirmation";

initHtmx();
initImports();
storeTimeZone();
initRelativeTimes();
initCopyButtons();
initMenus();
initDialogs();
initToasts();
initTypedConfirmations();
initFilterForms();
initChoices();
initDrafts();
initPasskeys();
initProgressBar();
initQuickAdd();
initQuickSearch();
initSelection();
initKeyboardShortcuts();
