//! SQL of records on PostgreSQL.

use crate::{
    engine::{kind_number, statements},
    records::Link,
};
use groma_domain::Kind;
use std::sync::LazyLock;

statements! {
    COUNTERS = "SELECT last_position, last_reference, total, generation FROM record_counters
        WHERE workspace_id = $1 AND kind = $2";
    SAVE_COUNTERS = "INSERT INTO record_counters (workspace_id, kind, last_position, last_reference, total, generation)
        VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (workspace_id, kind) DO UPDATE SET last_position = excluded.last_position,
            last_reference = excluded.last_reference, total = excluded.total, generation = excluded.generation";
    ADJUST_BUCKETS = "INSERT INTO page_counts AS b (workspace_id, kind, bucket, records, generation)
        SELECT $1, $2, a.bucket, a.records, a.generation
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[]) AS a (bucket, records, generation)
        ON CONFLICT (workspace_id, kind, bucket)
        DO UPDATE SET records = b.records + excluded.records, generation = excluded.generation";
    BUCKETS_SINCE = "SELECT c.generation, b.bucket, b.records FROM record_counters c
        LEFT JOIN page_counts b ON b.workspace_id = c.workspace_id AND b.kind = c.kind AND b.generation > $3
        WHERE c.workspace_id = $1 AND c.kind = $2";
    DELETE_COUNTERS = "DELETE FROM record_counters WHERE workspace_id = $1";
    DELETE_SOME_BUCKETS = "DELETE FROM page_counts WHERE ctid = ANY (ARRAY
        (SELECT ctid FROM page_counts WHERE workspace_id = $1 LIMIT $2))";
    OPEN_WORK = "SELECT doc FROM assignments WHERE workspace_id = $1 AND closed = 0
        AND (status_id IS NULL OR status_id <> ALL ($2)) ORDER BY day, position LIMIT $3";
    COMPLETED_WORK = "SELECT doc FROM assignments WHERE workspace_id = $1 AND closed = 1
        AND day BETWEEN $2 AND $3 ORDER BY day DESC, position DESC LIMIT $4";
    STATUSES = "SELECT doc, seq FROM statuses WHERE workspace_id = $1 ORDER BY seq";
    SAVE_STATUS = "INSERT INTO statuses (workspace_id, id, seq, kind, name_key, doc)
        VALUES ($1, $2, (SELECT coalesce(max(seq), 0) + 1 FROM statuses WHERE workspace_id = $1), $3, $4, $5)
        ON CONFLICT (workspace_id, id) DO UPDATE SET name_key = excluded.name_key, doc = excluded.doc";
    RELEASE_STATUS_NAME = "UPDATE statuses SET name_key = $3 WHERE workspace_id = $1 AND id = $2";
    DELETE_STATUS = "DELETE FROM statuses WHERE workspace_id = $1 AND id = $2";
    DELETE_STATUSES = "DELETE FROM statuses WHERE workspace_id = $1";
    LINKED_FEATURES = "SELECT l.id, f.id, f.external_id, f.folder_id,
            coalesce(f.heights, ST_AsBinary(f.geom, 'NDR')), f.properties, f.created_at
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND (f.folder_id = ANY ($2) OR f.assignment_id = ANY ($3))
        ORDER BY f.layer, f.position";
    LAYERS_OF_LINKED_FEATURES = "SELECT l.id, l.state, count(*),
            min(ST_XMin(f.geom)), min(ST_YMin(f.geom)), max(ST_XMax(f.geom)), max(ST_YMax(f.geom)),
            coalesce(array_agg(DISTINCT f.folder_id) FILTER (WHERE f.folder_id IS NOT NULL), '{}')
        FROM features f JOIN layers l ON l.workspace_id = f.workspace_id AND l.no = f.layer
        WHERE f.workspace_id = $1 AND (f.folder_id = ANY ($2) OR f.assignment_id = ANY ($3))
        GROUP BY l.no, l.id, l.state ORDER BY l.no";
    UNLINK_FOLDERS = "UPDATE features SET folder_id = NULL, assignment_id = NULL, updated_at = $3
        WHERE workspace_id = $1 AND folder_id = ANY ($2)";
    UNLINK_ASSIGNMENTS = "UPDATE features SET assignment_id = NULL, updated_at = $3
        WHERE workspace_id = $1 AND assignment_id = ANY ($2)";
    SAVE_LAYER_STATE = "UPDATE layers SET revision = $3, state = $4 WHERE workspace_id = $1 AND id = $2";
    ADD_LABEL = "INSERT INTO labels AS l (workspace_id, field, value, folded, records) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (workspace_id, field, value) DO UPDATE SET records = l.records + excluded.records";
    DELETE_UNUSED_LABEL = "DELETE FROM labels WHERE workspace_id = $1 AND field = $2 AND value = $3 AND records <= 0";
    DELETE_LABELS = "DELETE FROM labels WHERE workspace_id = $1";
    LABELS = "SELECT value, records FROM labels WHERE workspace_id = $1 AND field = $2 AND strpos(folded, $3) > 0
        ORDER BY strpos(folded, $3) > 1, folded, value LIMIT $4";
    TOTALS = "SELECT kind, total FROM record_counters WHERE workspace_id = $1";
}

/// The statements of one kind of record.
pub(crate) struct KindSql {
    pub(crate) insert: String,
    pub(crate) update: String,
    pub(crate) delete: String,
    pub(crate) release_reference: String,
    pub(crate) by_id: String,
    pub(crate) by_reference: String,
    pub(crate) by_external_id: String,
    pub(crate) document_by_id: String,
    pub(crate) document_by_reference: String,
    pub(crate) page: String,
    pub(crate) matches: String,
    pub(crate) short_matches: String,
    pub(crate) export: String,
    pub(crate) export_at: String,
    pub(crate) delete_some: String,
    pub(crate) analyzed_size: String,
    pub(crate) analyze: String,
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
        let number = kind_number(kind);
        let links: Vec<_> = Link::of(kind).iter().map(|link| link.column()).collect();
        let columns = links.join(", ");
        let parameters: Vec<_> = (12..12 + links.len()).map(|n| format!("${n}")).collect();
        let parameters = parameters.join(", ");
        let sets: Vec<_> =
            links.iter().zip(12..).map(|(link, n)| format!("{link} = ${n}")).collect();
        let sets = sets.join(", ");
        let by_link = |select: &str, tail: &str| -> Vec<(Link, String)> {
            let sql = |link: &Link| {
                format!(
                    "SELECT {select} FROM {t} WHERE workspace_id = $1 AND {} = $2 {tail}",
                    link.column()
                )
            };
            Link::of(kind).iter().map(|link| (*link, sql(link))).collect()
        };
        let document = |by: &str| {
            format!(
                "SELECT r.doc, r.people, w.people_generation FROM {t} r JOIN workspaces w ON w.id = r.workspace_id
                 WHERE r.workspace_id = $1 AND r.{by} = $2"
            )
        };
        let matches = |condition: &str| {
            format!(
                "WITH matches AS MATERIALIZED (SELECT position FROM {t} WHERE workspace_id = $1 AND {condition})
                 SELECT (SELECT count(*) FROM matches), w.people_generation, r.doc, r.people
                 FROM workspaces w LEFT JOIN LATERAL
                    (SELECT r.position, r.doc, r.people FROM (SELECT position FROM matches ORDER BY position LIMIT $3 OFFSET $4) h
                     JOIN {t} r ON r.workspace_id = $1 AND r.position = h.position) r ON true
                 WHERE w.id = $1 ORDER BY r.position"
            )
        };
        Self {
            insert: format!(
                "INSERT INTO {t} (workspace_id, position, id, reference, doc, people, search, title, external_id, updated_at,
                    reference_key, {columns})
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, {parameters})"
            ),
            update: format!(
                "UPDATE {t} SET reference = $4, doc = $5, people = $6, search = $7, title = $8, external_id = $9,
                    updated_at = $10, reference_key = $11, {sets}
                 WHERE workspace_id = $1 AND position = $2 AND id = $3"
            ),
            delete: format!("DELETE FROM {t} WHERE workspace_id = $1 AND position = $2"),
            release_reference: format!(
                "UPDATE {t} SET reference = $3 WHERE workspace_id = $1 AND position = $2"
            ),
            by_id: format!("SELECT position, doc FROM {t} WHERE workspace_id = $1 AND id = $2"),
            by_reference: format!(
                "SELECT position, doc FROM {t} WHERE workspace_id = $1 AND reference = $2"
            ),
            by_external_id: format!(
                "SELECT position, doc FROM {t} WHERE workspace_id = $1 AND external_id = $2 ORDER BY position LIMIT $3"
            ),
            document_by_id: document("id"),
            document_by_reference: document("reference"),
            // One statement reads one snapshot: total, generation and rows agree. The number of rows is
            // hidden from the planner, which would otherwise plan for each number.
            page: format!(
                "SELECT c.total, c.generation, w.people_generation, r.doc, r.people
                 FROM record_counters c JOIN workspaces w ON w.id = c.workspace_id LEFT JOIN LATERAL
                    (SELECT position, doc, people FROM {t} WHERE workspace_id = $1 AND position >= (SELECT $2::bigint)
                     ORDER BY position LIMIT (SELECT $3::bigint) OFFSET (SELECT $4::bigint)) r ON true
                 WHERE c.workspace_id = $1 AND c.kind = {number} ORDER BY r.position"
            ),
            matches: matches("search LIKE $2"),
            // Below three characters there is no whole trigram: a scan beats the index.
            short_matches: matches("strpos(search, $2) > 0"),
            export: format!(
                "SELECT r.position, r.doc, r.people, w.people_generation FROM {t} r
                 JOIN workspaces w ON w.id = r.workspace_id
                 WHERE r.workspace_id = $1 AND r.position > $2 ORDER BY r.position LIMIT $3"
            ),
            export_at: format!(
                "SELECT r.position, r.doc, r.people, w.people_generation
                 FROM unnest($2::bigint[]) WITH ORDINALITY AS wanted (position, number)
                 JOIN {t} r ON r.workspace_id = $1 AND r.position = wanted.position
                 JOIN workspaces w ON w.id = r.workspace_id ORDER BY wanted.number"
            ),
            delete_some: format!(
                "DELETE FROM {t} WHERE workspace_id = $1 AND position IN
                    (SELECT position FROM {t} WHERE workspace_id = $1 ORDER BY position LIMIT $2)"
            ),
            analyzed_size: format!(
                "SELECT reltuples::bigint FROM pg_class WHERE oid = '{t}'::regclass"
            ),
            analyze: format!("ANALYZE {t}"),
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
            by_id,
            by_reference,
            by_external_id,
            document_by_id,
            document_by_reference,
            page,
            matches,
            short_matches,
            export,
            export_at,
            delete_some,
            analyzed_size,
            analyze,
            linked,
            is_linked,
        } = self;
        let mut all: Vec<&str> = vec![
            insert,
            update,
            delete,
            release_reference,
            by_id,
            by_reference,
            by_external_id,
            document_by_id,
            document_by_reference,
            page,
            matches,
            short_matches,
            export,
            export_at,
            delete_some,
            analyzed_size,
            analyze,
        ];
        all.extend(linked.iter().chain(is_linked).map(|(_, sql)| sql.as_str()));
        all
    }
}

fn find(statements: &[(Link, String)], link: Link) -> Option<&str> {
    statements.iter().find(|(of, _)| *of == link).map(|(_, sql)| sql.as_str())
}
