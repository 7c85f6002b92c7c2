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
    pub(crate) must: f64,
    pub(crate) why: &'static str,
}

const fn line(key: &'static str, name: &'static str, must: f64, why: &'static str) -> Line {
    Line { key, name, must, why }
}

const DEPTH: &str = "a few pages of an index, whose depth grows by one in a hundredfold size";
const COUNTS: &str = "the counts of blocks say where a page begins, in steps that double";

/// Every plot, in the order of the page.
pub(crate) const GROUPS: [Group; 7] = [
    Group {
        file: "records",
        title: "Pages of 50 and details",
        up: "milliseconds",
        lines: &[
            line("page/first", "first page", 1.0, COUNTS),
            line("page/middle", "middle page", 1.0, COUNTS),
            line("page/last", "last page", 1.0, COUNTS),
            line("detail", "detail", 1.0, DEPTH),
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
                1.0,
                "the trigrams of a rare word are few, if the rarest is asked first",
            ),
            line(
                "term/many",
                "an eighth of all are hits",
                10.0,
                "the total is exact, so every hit is counted",
            ),
        ],
    },
    Group {
        file: "tiles",
        title: "Tiles of parcels, none cached",
        up: "milliseconds",
        lines: &[
            line("tile/z0", "z0", 1.0, "a tile shows no more than its budget"),
            line("tile/z6", "z6", 1.0, "a tile shows no more than its budget"),
            line(
                "tile/z10",
                "z10",
                1.0,
                "towns grow with the size until they fill a tile, which shows no more than its budget",
            ),
            line("tile/z14", "z14", 1.0, "a town is as dense as before, only larger"),
        ],
    },
    Group {
        file: "changes",
        title: "A change of one record, a geometry posted",
        up: "milliseconds until synced and acknowledged",
        lines: &[
            line("post", "one geometry posted", 1.0, "its neighbours on each shelf, a few indexes"),
            line("change/1", "change, 1 endpoint", 1.0, "a few rows and a sync"),
            line("change/10", "change, 10 endpoints", 1.0, "a few rows, 10 deliveries, a sync"),
            line("change/50", "change, 50 endpoints", 1.0, "a few rows, 50 deliveries, a sync"),
        ],
    },
    Group {
        file: "deliveries",
        title: "From a change to the last delivery",
        up: "milliseconds",
        lines: &[
            line("delivered/1", "1 endpoint", 1.0, "deliveries leave with the commit"),
            line("delivered/10", "10 endpoints", 1.0, "deliveries leave with the commit"),
            line("delivered/50", "50 endpoints", 1.0, "deliveries leave with the commit"),
        ],
    },
    Group {
        file: "start",
        title: "From start to the first answer",
        up: "milliseconds",
        lines: &[
            line("start/warm", "file in memory", 1.0, "nothing that depends on the size is read"),
            line("start/cold", "file on disk", 1.0, "nothing that depends on the size is read"),
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
                1.0,
                "the counts of blocks are read when first asked for",
            ),
            line(
                "memory/after",
                "MB, records",
                1.0,
                "the counts of blocks: a quarter of a byte a record",
            ),
            line("memory/land", "MB, tiles", 1.0, "what a tile is drawn from, and no more"),
            line("bytes/record", "bytes a record", 1.0, "all of it is in proportion"),
            line("bytes/feature", "bytes a feature", 1.0, "all of it is in proportion"),
        ],
    },
];
