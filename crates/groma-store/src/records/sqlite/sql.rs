//! SQL of records on SQLite.

use crate::{
    engine::{kind_number, statements},
    records::Link,
};
use groma_domain::Kind;
use std::sync::LazyLock;

statements! {
    COUNTERS = "SELECT last_position, last_reference, total, generation FROM record_counters WHERE ws = ?1 AND kind = ?2";
    TOTAL_AND_GENERATION = "SELECT total, generation FROM record_counters WHERE ws = ?1 AND kind = ?2";
    SAVE_COUNTERS = "INSERT INTO record_counters (ws, kind, last_position, last_reference, total, generation)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (ws, kind) DO UPDATE SET last_position = excluded.last_position,
            last_reference = excluded.last_reference, total = excluded.total, generation = excluded.generation";
    ADJUST_BUCKET = "INSERT INTO page_counts (ws, kind, bucket, records, generation) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (ws, kind, bucket) DO UPDATE SET records = records + excluded.records, generation = excluded.generation";
    BUCKETS_SINCE = "SELECT bucket, records FROM page_counts WHERE ws = ?1 AND kind = ?2 AND generation > ?3";
    DELETE_COUNTERS = "DELETE FROM record_counters WHERE ws = ?1";
    DELETE_SOME_BUCKETS = "DELETE FROM page_counts WHERE (ws, kind, bucket) IN
        (SELECT ws, kind, bucket FROM page_counts WHERE ws = ?1 LIMIT ?2)";
    OPEN_WORK = "SELECT doc FROM assignments INDEXED BY assignments_by_day WHERE ws = ?1 AND closed = 0
        AND (status_id IS NULL OR status_id NOT IN (SELECT unhex(value) FROM json_each(?2))) ORDER BY day, position LIMIT ?3";
    COMPLETED_WORK = "SELECT doc FROM assignments INDEXED BY assignments_by_day WHERE ws = ?1 AND closed = 1
        AND day BETWEEN ?2 AND ?3 ORDER BY day DESC, position DESC LIMIT ?4";
    STATUSES = "SELECT doc, seq FROM statuses WHERE ws = ?1 ORDER BY seq";
    SAVE_STATUS = "INSERT INTO statuses (ws, id, seq, kind, name_key, doc)
        VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM statuses WHERE ws = ?1), ?3, ?4, ?5)
        ON CONFLICT (ws, id) DO UPDATE SET name_key = excluded.name_key, doc = excluded.doc";
    RELEASE_STATUS_NAME = "UPDATE statuses SET name_key = ?3 WHERE ws = ?1 AND id = ?2";
    DELETE_STATUS = "DELETE FROM statuses WHERE ws = ?1 AND id = ?2";
    DELETE_STATUSES = "DELETE FROM statuses WHERE ws = ?1";
    LINKED_FEATURES = "SELECT l.id, f.id, f.external_id, f.folder_id, f.geometry, f.properties, f.created_at
        FROM features f JOIN layers l ON l.no = f.position >> 40
        WHERE f.folder_id IN (SELECT unhex(value) FROM json_each(?1))
            OR f.assignment_id IN (SELECT unhex(value) FROM json_each(?2))
        ORDER BY f.position";
    UNLINK_FOLDERS = "UPDATE features SET folder_id = NULL, assignment_id = NULL, updated_at = ?2
        WHERE folder_id IN (SELECT unhex(value) FROM json_each(?1))";
    UNLINK_ASSIGNMENTS = "UPDATE features SET assignment_id = NULL, updated_at = ?2
        WHERE assignment_id IN (SELECT unhex(value) FROM json_each(?1))";
    LAYER_STATE = "SELECT state FROM layers WHERE ws = ?1 AND id = ?2";
    SAVE_LAYER_STATE = "UPDATE layers SET revision = ?3, state = ?4 WHERE ws = ?1 AND id = ?2";
    DELETE_BOX = "DELETE FROM folder_boxes WHERE position = ?1";
    INSERT_BOX = "INSERT INTO folder_boxes (position, west, east, south, north) VALUES (?1, ?2, ?3, ?4, ?5)";
    ADD_LABEL = "INSERT INTO labels (ws, field, value, folded, records) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT (ws, field, value) DO UPDATE SET records = records + excluded.records";
    DELETE_UNUSED_LABEL = "DELETE FROM labels WHERE ws = ?1 AND field = ?2 AND value = ?3 AND records <= 0";
    DELETE_LABELS = "DELETE FROM labels WHERE ws = ?1";
    LABELS = "SELECT value, records FROM labels WHERE ws = ?1 AND field = ?2 AND instr(folded, ?3)
        ORDER BY instr(folded, ?3) > 1, folded, value LIMIT ?4";
    TAGGED = "SELECT coalesce(sum(records), 0) FROM labels WHERE ws = ?1 AND field = 'tag' AND folded = ?2";
    TOTALS = "SELECT kind, total FROM record_counters WHERE ws = ?1";
}

/// The statements of one kind of record.
pub(crate) struct KindSql {
    pub(crate) insert: String,
    pub(crate) update: String,
    pub(crate) delete: String,
    pub(crate) release_reference: String,
    pub(crate) insert_text: String,
    pub(crate) delete_text: String,
    pub(crate) by_id: String,
    pub(crate) by_reference: String,
    pub(crate) by_external_id: String,
    pub(crate) document_by_id: String,
    pub(crate) document_by_reference: String,
    pub(crate) page: String,
    pub(crate) matches: String,
    pub(crate) matches_page: String,
    pub(crate) trigrams: String,
    pub(crate) some_positions: String,
    linked: Vec<(Link, String)>,
    is_linked: Vec<(Link, String)>,
}

/// The statements of each kind.
static KINDS: LazyLock<[KindSql; 4]> = LazyLock::new(|| Kind::ALL.map(KindSql::new));

impl KindSql {
    pub(crate) fn of(kind: Kind) -> &'static Self {
        &KINDS[usize::try_from(kind_number(kind)).unwrap_or_default()]
    }

    fn new(kind: Kind) -> Self {
        let t = kind.plural();
        let links: Vec<_> = Link::of(kind).iter().map(|link| link.column()).collect();
        let columns = links.join(", ");
        let parameters: Vec<_> = (11..11 + links.len()).map(|n| format!("?{n}")).collect();
        let parameters = parameters.join(", ");
        let sets: Vec<_> =
            links.iter().zip(11..).map(|(link, n)| format!("{link} = ?{n}")).collect();
        let sets = sets.join(", ");
        let by_link = |select: &str, order: &str| -> Vec<(Link, String)> {
            let links = Link::of(kind).iter();
            links
                .map(|link| {
                    (
                        *link,
                        format!(
                            "SELECT {select} FROM {t} WHERE ws = ?1 AND {} = ?2 {order}",
                            link.column()
                        ),
                    )
                })
                .collect()
        };
        Self {
            // `OR FAIL`: a change that fails half-way is rolled back as a whole, so SQLite need not copy the pages that
            // a statement with triggers changes.
            insert: format!(
                "INSERT OR FAIL INTO {t} (position, ws, id, reference, doc, people, title, external_id, updated_at, reference_key, {columns})
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, {parameters})"
            ),
            update: format!(
                "UPDATE OR FAIL {t} SET reference = ?4, doc = ?5, people = ?6, title = ?7, external_id = ?8, updated_at = ?9,
                    reference_key = ?10, {sets}
                 WHERE position = ?1 AND ws = ?2 AND id = ?3"
            ),
            delete: format!("DELETE FROM {t} WHERE position = ?1"),
            release_reference: format!("UPDATE {t} SET reference = ?2 WHERE position = ?1"),
            insert_text: format!("INSERT INTO {t}_search (rowid, text) VALUES (?1, ?2)"),
            delete_text: format!("DELETE FROM {t}_search WHERE rowid = ?1"),
            by_id: format!("SELECT position, doc FROM {t} WHERE ws = ?1 AND id = ?2"),
            by_reference: format!("SELECT position, doc FROM {t} WHERE ws = ?1 AND reference = ?2"),
            by_external_id: format!(
                "SELECT position, doc FROM {t} WHERE ws = ?1 AND external_id = ?2 ORDER BY position LIMIT ?3"
            ),
            document_by_id: format!("SELECT doc, people FROM {t} WHERE ws = ?1 AND id = ?2"),
            document_by_reference: format!("SELECT doc, people FROM {t} WHERE ws = ?1 AND reference = ?2"),
            page: format!(
                "SELECT position, doc, people FROM {t} WHERE position BETWEEN ?1 AND ?2
                 ORDER BY position LIMIT ?3 OFFSET ?4"
            ),
            matches: format!("SELECT count(*) FROM {t}_search WHERE {t}_search MATCH ?1 AND rowid BETWEEN ?2 AND ?3"),
            matches_page: format!(
                "SELECT r.doc, r.people FROM
                    (SELECT rowid FROM {t}_search WHERE {t}_search MATCH ?1 AND rowid BETWEEN ?2 AND ?3
                     ORDER BY rowid LIMIT ?4 OFFSET ?5) s
                 JOIN {t} r ON r.position = s.rowid ORDER BY r.position"
            ),
            trigrams: format!("SELECT term FROM {t}_trigrams WHERE term >= ?1 AND term <= ?2"),
            some_positions: format!("SELECT position FROM {t} WHERE position BETWEEN ?1 AND ?2 ORDER BY position LIMIT ?3"),
            linked: by_link("position, doc", "ORDER BY position"),
            is_linked: by_link("1", "LIMIT 1"),
        }
    }

    pub(crate) fn linked(&self, link: Link) -> Option<&str> {
        find(&self.linked, link)
    }

    pub(crate) fn is_linked(&self, link: Link) -> Option<&str> {
        find(&self.is_linked, link)
    }

    /// All of them. A new field that is missing here does not compile.
    #[cfg(test)]
    pub(crate) fn all(&self) -> Vec<&str> {
        let Self {
            insert,
            update,
            delete,
            release_reference,
            insert_text,
            delete_text,
            by_id,
            by_reference,
            by_external_id,
            document_by_id,
            document_by_reference,
            page,
            matches,
            matches_page,
            trigrams,
            some_positions,
            linked,
            is_linked,
        } = self;
        let mut all: Vec<&str> = vec![
            insert,
            update,
            delete,
            release_reference,
            insert_text,
            delete_text,
            by_id,
            by_reference,
            by_external_id,
            document_by_id,
            document_by_reference,
            page,
            matches,
            matches_page,
            trigrams,
            some_positions,
        ];
        all.extend(linked.iter().chain(is_linked).map(|(_, sql)| sql.as_str()));
        all
    }
}

fn find(statements: &[(Link, String)], link: Link) -> Option<&str> {
    statements.iter().find(|(of, _)| *of == link).map(|(_, sql)| sql.as_str())
}
