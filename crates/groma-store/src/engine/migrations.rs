//! What both engines need to know about schema migrations.

/// The migrations whose versions are not among the applied ones.
pub(super) fn pending(applied: &[i32], known: &refinery::Runner) -> Vec<String> {
    let pending = known.get_migrations().iter().filter(|known| !applied.contains(&known.version()));
    pending.map(ToString::to_string).collect()
}

/// Logs that a database of an older program is about to be migrated: on a large database that takes
/// minutes, during which the program does not respond.
pub(super) fn log_pending(applied: &[i32], known: &refinery::Runner) {
    let pending = pending(applied, known);
    if !applied.is_empty() && !pending.is_empty() {
        let migrations = pending.join(", ");
        tracing::info!(migrations, "migrating the database, which may take minutes");
    }
}
