//! What is measured: each line with its plot, and what it has to cost ten times the size.

/// A plot and its lines.
pub(crate) struct Group {
    /// The name of its file.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    /// What the costs are, with their unit.
    pub(crate) up: &'static str,
    pub(crate) lines: &'static [Line],
}

/// A line.
pub(crate) struct Line {
    /// Its name among the figures.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    /// By what it has to grow at ten times the size, and why.
    pub(crate) must: Must,
    pub(crate) why: &'static str,
}

/// By what a cost has to grow at ten times the size.
pub(crate) enum Must {
    By(f64),
    /// As another line does.
    As(&'static str),
}

const fn line(key: &'static str, name: &'static str, must: Must, why: &'static str) -> Line {
    Line { key, name, must, why }
}

const STAY: Must = Must::By(1.0);

const DEPTH: &str = "a few pages of an index, whose depth grows by one in a hundredfold size";
const SHOWN: &str = "what is shown, which is written out";
const FULL: &str = "as many more features, until a town fills the tile or the tile its budget";
const COUNTS: &str = "the counts of blocks say where a page begins, in steps that double";

const START: &str = "the counts of blocks, one for 64 records, are read for the first list";

/// Every plot, in the order of the page.
pub(crate) const GROUPS: [Group; 8] = [
    Group {
        file: "records",
        title: "Pages of 50 and details",
        up: "milliseconds",
        lines: &[
            line("page/first", "first page", STAY, COUNTS),
            line("page/middle", "middle page", STAY, COUNTS),
            line("page/last", "last page", STAY, COUNTS),
            line("detail", "detail", STAY, DEPTH),
        ],
    },
    Group {
        file: "search",
        title: "Searches with a term",
        up: "milliseconds",
        lines: &[
            line(
                "term/few",
                "50 hits",
                STAY,
                "a rare word has rare trigrams, and there are as many hits as before",
            ),
            line(
                "term/many",
                "an eighth of all are hits",
                Must::By(10.0),
                "the total is exact, so every hit is counted",
            ),
        ],
    },
    Group {
        file: "tiles",
        title: "Tiles of parcels, none cached",
        up: "milliseconds",
        lines: &[
            line("tile/z0", "z0", Must::As("size/z0"), SHOWN),
            line("tile/z6", "z6", Must::As("size/z6"), SHOWN),
            line("tile/z10", "z10", Must::As("size/z10"), SHOWN),
            line("tile/z14", "z14", Must::As("size/z14"), SHOWN),
        ],
    },
    Group {
        file: "tile-sizes",
        title: "What these tiles hold",
        up: "bytes before compression",
        lines: &[
            line("size/z0", "z0", Must::By(10.0), FULL),
            line("size/z6", "z6", Must::By(10.0), FULL),
            line("size/z10", "z10", Must::By(10.0), FULL),
            line("size/z14", "z14", Must::By(10.0), FULL),
        ],
    },
    Group {
        file: "changes",
        title: "A change of one record, a geometry posted",
        up: "milliseconds until synced and acknowledged",
        lines: &[
            line(
                "post",
                "one geometry posted",
                STAY,
                "its neighbours on each shelf, a few indexes",
            ),
            line("change/1", "change, 1 endpoint", STAY, "a few rows and a sync"),
            line("change/10", "change, 10 endpoints", STAY, "a few rows, 10 deliveries, a sync"),
            line("change/50", "change, 50 endpoints", STAY, "a few rows, 50 deliveries, a sync"),
        ],
    },
    Group {
        file: "deliveries",
        title: "From a change to the last delivery",
        up: "milliseconds",
        lines: &[
            line("delivered/1", "1 endpoint", STAY, "deliveries leave with the commit"),
            line("delivered/10", "10 endpoints", STAY, "deliveries leave with the commit"),
            line("delivered/50", "50 endpoints", STAY, "deliveries leave with the commit"),
        ],
    },
    Group {
        file: "start",
        title: "From start to the first answer",
        up: "milliseconds",
        lines: &[
            line("start/warm", "file in memory", STAY, START),
            line("start/cold", "file on disk", STAY, START),
        ],
    },
    Group {
        file: "space",
        title: "Memory and disk",
        up: "MB of its own memory; bytes on disk",
        lines: &[
            line(
                "memory/idle",
                "MB idle",
                STAY,
                "the counts of blocks are read when first asked for",
            ),
            line(
                "memory/after",
                "MB, records",
                STAY,
                "the counts of blocks: a quarter of a byte a record",
            ),
            line("memory/land", "MB, tiles", STAY, "what a tile is drawn from, and no more"),
            line("bytes/record", "bytes a record", STAY, "all of it is in proportion"),
            line("bytes/feature", "bytes a feature", STAY, "all of it is in proportion"),
        ],
    },
];
