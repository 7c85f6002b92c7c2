//! The types of job that the office does: their names, clients, tasks and purchases.

mod building;
mod ground;
mod land;

use super::purchases::Purchase;

pub(super) const JOB_TYPES: [&JobType; 12] = [
    &land::BOUNDARY,
    &land::EASEMENT,
    &land::CADASTRE,
    &ground::TOPOGRAPHY,
    &ground::CONTROL,
    &ground::DRONE,
    &ground::VOLUMES,
    &ground::WATER,
    &building::AS_BUILT,
    &building::SET_OUT,
    &building::UTILITIES,
    &building::MONITORING,
];

#[derive(Debug)]
pub(super) struct JobType {
    /// The percentage of folders with this type.
    pub(super) share: i64,
    pub(super) subjects: &'static [Subject],
    pub(super) tags: &'static [&'static str],
    pub(super) scales: &'static [&'static str],
    /// The range of working days in the field for a small job.
    pub(super) field_days: (i64, i64),
    pub(super) tasks: &'static [TaskTemplate],
    pub(super) purchases: &'static [Purchase],
}

impl JobType {
    pub(super) fn is_cadastral(&self) -> bool {
        self.tags.contains(&"cadastre") || self.tags.contains(&"easement")
    }
}

/// What a folder is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    /// Follows the commune's name. Placeholders: `{street}`, `{field}`, `{lot}` (a number),
    /// `{section}` (of the cadastre), `{season}`.
    pub(super) name: &'static str,
    /// The job in one sentence. Placeholders: `{parcels}`, `{hectares}`.
    pub(super) brief: &'static str,
    pub(super) clients: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TaskTemplate {
    pub(super) phase: Phase,
    pub(super) role: TaskRole,
    pub(super) title: &'static str,
    pub(super) hours: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Prepare,
    Field,
    Office,
    Deliver,
}

/// The role that a task is assigned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskRole {
    /// The owner of the folder.
    Owner,
    /// The field crew of the folder's commune.
    Crew,
    Drafter,
    Analyst,
    Pilot,
    Lawyer,
    Manager,
}

const fn subject(
    name: &'static str,
    brief: &'static str,
    clients: &'static [&'static str],
) -> Subject {
    Subject { name, brief, clients }
}

const fn task(phase: Phase, role: TaskRole, title: &'static str, hours: i64) -> TaskTemplate {
    TaskTemplate { phase, role, title, hours }
}

/// The first task of every folder.
pub(super) const QUOTE: TaskTemplate =
    task(Phase::Prepare, TaskRole::Owner, "Site visit and quote", 3);
