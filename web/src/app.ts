import "htmx.org/dist/htmx.esm.js";
