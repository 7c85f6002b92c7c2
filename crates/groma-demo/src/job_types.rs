//! The kinds of work that the office does: what they are called, who orders them, which steps they
//! take and what is bought for them.

mod building;
mod ground;
mod land;

use super::purchases::Purchase;

/// Every kind of work.
pub(super) const WORKS: [&Work; 12] = [
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

/// A kind of work.
#[derive(Debug)]
pub(super) struct Work {
    /// How many in a hundred folders are of it.
    pub(super) share: i64,
    pub(super) subjects: &'static [Subject],
    pub(super) tags: &'static [&'static str],
    pub(super) scales: &'static [&'static str],
    /// How many working days it takes outside when it is small, from and to.
    pub(super) field_days: (i64, i64),
    pub(super) tasks: &'static [Task],
    pub(super) purchases: &'static [Purchase],
}

impl Work {
    /// Whether it is about parcels.
    pub(super) fn concerns_land(&self) -> bool {
        self.tags.contains(&"cadastre") || self.tags.contains(&"easement")
    }
}

/// What a folder can be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    /// What it is called behind the commune's name: `{street}` and `{field}` are a place there,
    /// `{lot}` a number, `{sheet}` a cadastral sheet, `{season}` the season.
    pub(super) name: &'static str,
    /// What is to be done; `{parcels}` and `{hectares}` are figures of the folder.
    pub(super) brief: &'static str,
    /// Who orders such a thing.
    pub(super) clients: &'static [&'static str],
}

/// A step of a work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) phase: Phase,
    pub(super) doer: Doer,
    pub(super) title: &'static str,
    pub(super) hours: i64,
}

/// The part of a work that a task belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Prepare,
    Field,
    Office,
    Deliver,
}

/// Who does a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doer {
    /// Whoever answers for the folder.
    Owner,
    /// The crew that goes to its commune.
    Crew,
    Drawing,
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

const fn task(phase: Phase, doer: Doer, title: &'static str, hours: i64) -> Task {
    Task { phase, doer, title, hours }
}

/// The step with which every folder begins.
pub(super) const QUOTE: Task = task(Phase::Prepare, Doer::Owner, "Site visit and quote", 3);
