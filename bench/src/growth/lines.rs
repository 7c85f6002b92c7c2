//! The measured lines with their plots and their expected growth.

/// A plot and its lines.
pub(crate) struct Group {
    /// The file name.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
    /// The label of the vertical axis, with its unit.
    pub(crate) up: &'static str,
    pub(crate) lines: &'static [Line],
}

/// A line.
pub(crate) struct Line {
    /// The key in the results.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    /// The expected growth at ten times the size, and the reason.
    pub(crate) expected: Expected,
    pub(crate) reason: &'static str,
}

/// The expected growth at ten times the size.
pub(crate) enum Expected {
    By(f64),
    /// The growth of another line.
    As(&'static str),
}

const fn line(
    key: &'static str,
    name: &'static str,
    expected: Expected,
    reason: &'static str,
) -> Line {
    Line { key, name, expected, reason }
}

const CONSTANT: Expected = Expected::By(1.0);

const DEPTH: &str =
    "a few index pages; the depth of the index grows by one for a hundred times the size";
const SHOWN: &str = "the features in the tile, which are encoded";
const FULL: &str = "more features, until a town fills the tile or the tile reaches its size limit";
const COUNTS: &str = "the page index finds the start of a page in logarithmic steps";

const START: &str = "the page index, with one count per 64 records, is read for the first list";

/// Every plot, in the order of the page.
pub(crate) const GROUPS: [Group; 8] = [
    Group {
        file: "records",
        title: "Pages of 50 and details",
        up: "milliseconds",
        lines: &[
            line("page/first", "first page", CONSTANT, COUNTS),
            line("page/middle", "middle page", CONSTANT, COUNTS),
            line("page/last", "last page", CONSTANT, COUNTS),
            line("detail", "detail", CONSTANT, DEPTH),
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
                CONSTANT,
                "a rare word has rare trigrams, and the number of hits stays the same",
            ),
            line(
                "term/many",
                "hits in an eighth of the records",
                Expected::By(10.0),
                "the total is exact, so every hit is counted",
            ),
        ],
    },
    Group {
        file: "tiles",
        title: "Tiles of parcels, none cached",
        up: "milliseconds",
        lines: &[
            line("tile/z0", "z0", Expected::As("size/z0"), SHOWN),
            line("tile/z6", "z6", Expected::As("size/z6"), SHOWN),
            line("tile/z10", "z10", Expected::As("size/z10"), SHOWN),
            line("tile/z14", "z14", Expected::As("size/z14"), SHOWN),
        ],
    },
    Group {
        file: "tile-sizes",
        title: "Sizes of these tiles",
        up: "bytes before compression",
        lines: &[
            line("size/z0", "z0", Expected::By(10.0), FULL),
            line("size/z6", "z6", Expected::By(10.0), FULL),
            line("size/z10", "z10", Expected::By(10.0), FULL),
            line("size/z14", "z14", Expected::By(10.0), FULL),
        ],
    },
    Group {
        file: "changes",
        title: "A change of one record, a posted geometry",
        up: "milliseconds until synced and acknowledged",
        lines: &[
            line(
                "post",
                "one posted geometry",
                CONSTANT,
                "its neighbours in each zoom tier, a few indexes",
            ),
            line("change/1", "change, 1 endpoint", CONSTANT, "a few rows and a sync"),
            line(
                "change/10",
                "change, 10 endpoints",
                CONSTANT,
                "a few rows, 10 deliveries, a sync",
            ),
            line(
                "change/50",
                "change, 50 endpoints",
                CONSTANT,
                "a few rows, 50 deliveries, a sync",
            ),
        ],
    },
    Group {
        file: "deliveries",
        title: "From a change to the last delivery",
        up: "milliseconds",
        lines: &[
            line("delivered/1", "1 endpoint", CONSTANT, "deliveries start with the commit"),
            line("delivered/10", "10 endpoints", CONSTANT, "deliveries start with the commit"),
            line("delivered/50", "50 endpoints", CONSTANT, "deliveries start with the commit"),
        ],
    },
    Group {
        file: "start",
        title: "From the start to the first response",
        up: "milliseconds",
        lines: &[
            line("start/warm", "file in memory", CONSTANT, START),
            line("start/cold", "file on disk", CONSTANT, START),
        ],
    },
    Group {
        file: "space",
        title: "Memory and disk",
        up: "MB of private memory; bytes on disk",
        lines: &[
            line(
                "memory/idle",
                "MB idle",
                CONSTANT,
                "the page index is read when it is first needed",
            ),
            line(
                "memory/after",
                "MB, records",
                CONSTANT,
                "the page index: a quarter of a byte per record",
            ),
            line("memory/land", "MB, tiles", CONSTANT, "only the features of a tile"),
            line("bytes/record", "bytes per record", CONSTANT, "proportional to the number"),
            line("bytes/feature", "bytes per feature", CONSTANT, "proportional to the number"),
        ],
    },
];
