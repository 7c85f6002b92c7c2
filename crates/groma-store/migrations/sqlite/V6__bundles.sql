-- Documents in bundles, as lists read them: those of eight neighbouring places in one row, each behind its
-- place in the bundle (one byte), the length of its people and its own length (four bytes each), and its
-- people. They are derived from the records, and written anew whenever one of the eight changes.
CREATE TABLE folders_bundles (bundle INTEGER PRIMARY KEY, documents BLOB NOT NULL) STRICT;
CREATE TABLE assignments_bundles (bundle INTEGER PRIMARY KEY, documents BLOB NOT NULL) STRICT;
CREATE TABLE expenses_bundles (bundle INTEGER PRIMARY KEY, documents BLOB NOT NULL) STRICT;
CREATE TABLE budgets_bundles (bundle INTEGER PRIMARY KEY, documents BLOB NOT NULL) STRICT;

INSERT INTO folders_bundles SELECT bundle, (
    SELECT CAST(group_concat(
        unhex(printf('%02x%08x%08x', place & 7, length(people), octet_length(doc))) || people || doc, '') AS BLOB)
    FROM folders WHERE place BETWEEN bundle << 3 AND bundle << 3 | 7)
FROM (SELECT DISTINCT place >> 3 AS bundle FROM folders);
INSERT INTO assignments_bundles SELECT bundle, (
    SELECT CAST(group_concat(
        unhex(printf('%02x%08x%08x', place & 7, length(people), octet_length(doc))) || people || doc, '') AS BLOB)
    FROM assignments WHERE place BETWEEN bundle << 3 AND bundle << 3 | 7)
FROM (SELECT DISTINCT place >> 3 AS bundle FROM assignments);
INSERT INTO expenses_bundles SELECT bundle, (
    SELECT CAST(group_concat(
        unhex(printf('%02x%08x%08x', place & 7, length(people), octet_length(doc))) || people || doc, '') AS BLOB)
    FROM expenses WHERE place BETWEEN bundle << 3 AND bundle << 3 | 7)
FROM (SELECT DISTINCT place >> 3 AS bundle FROM expenses);
INSERT INTO budgets_bundles SELECT bundle, (
    SELECT CAST(group_concat(
        unhex(printf('%02x%08x%08x', place & 7, length(people), octet_length(doc))) || people || doc, '') AS BLOB)
    FROM budgets WHERE place BETWEEN bundle << 3 AND bundle << 3 | 7)
FROM (SELECT DISTINCT place >> 3 AS bundle FROM budgets);
