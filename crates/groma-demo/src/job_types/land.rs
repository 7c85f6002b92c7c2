//! Jobs about land ownership.

use super::{
    JobType,
    Phase::{Deliver, Field, Office, Prepare},
    TaskRole::{Analyst, Crew, Drafter, Lawyer, Manager, Owner},
    subject, task,
};
use crate::purchases as buy;

pub(super) const BOUNDARY: JobType = JobType {
    share: 18,
    subjects: &[
        subject(
            "boundary survey, {street}",
            "Find and mark the corners of {parcels} parcels, hold a hearing with the neighbours, file the record.",
            &["Town council", "Housing cooperative", "Notary's office"],
        ),
        subject(
            "boundary survey, {field}",
            "Find and mark the corners of {parcels} parcels, hold a hearing with the neighbours, file the record.",
            &["Vineyard estate", "Farm cooperative", "Town council"],
        ),
        subject(
            "boundary marking, {field}",
            "Old markers are lost: restore the corners of {parcels} parcels from the filed plans.",
            &["Vineyard estate", "Farm cooperative", "Forestry office"],
        ),
        subject(
            "parcel division, {field}",
            "Divide {hectares} ha into {parcels} parcels with new corners and a plan for the deed.",
            &["Notary's office", "Housing developer", "Vineyard estate"],
        ),
        subject(
            "neighbour line, {street}",
            "The line between two owners is disputed: search the old plans, propose a line, mark it.",
            &["Notary's office", "Housing cooperative"],
        ),
    ],
    tags: &["boundary", "cadastre"],
    scales: &["1:200", "1:250", "1:500"],
    field_days: (2, 6),
    tasks: &[
        task(Prepare, Manager, "Letters to the neighbours", 2),
        task(Prepare, Owner, "Search of old plans and deeds", 5),
        task(Field, Crew, "Control points, static GNSS", 4),
        task(Field, Crew, "Search for existing markers", 6),
        task(Field, Crew, "Survey of fences and walls", 7),
        task(Field, Crew, "Stake out new corners", 5),
        task(Office, Lawyer, "Hearing with the neighbours, minutes", 4),
        task(Office, Drafter, "Boundary plan", 9),
        task(Deliver, Owner, "Signatures and filing", 3),
    ],
    purchases: &[buy::MARKERS, buy::EXTRACT, buy::FILING, buy::CLEARING],
};

pub(super) const EASEMENT: JobType = JobType {
    share: 4,
    subjects: &[
        subject(
            "right of way, {field}",
            "Mark the way on the ground, meet the owners, draw up the plan for the notary.",
            &["Notary's office", "Farm cooperative"],
        ),
        subject(
            "water pipe, easement, {field}",
            "Easement plan over {parcels} parcels with the agreed widths, as an annex to the deeds.",
            &["Water board"],
        ),
        subject(
            "overhead line, easements, section {lot}",
            "Strip under the line over {parcels} parcels, heights of trees, list of owners.",
            &["Power grid operator"],
        ),
    ],
    tags: &["easement", "legal"],
    scales: &["1:500", "1:1000"],
    field_days: (1, 4),
    tasks: &[
        task(Prepare, Lawyer, "List of owners and deeds", 5),
        task(Prepare, Manager, "Letters to the owners", 2),
        task(Field, Crew, "Survey of the strip", 6),
        task(Field, Crew, "Marking of the axis", 4),
        task(Office, Drafter, "Easement plan", 7),
        task(Office, Lawyer, "Wording for the deed", 4),
        task(Deliver, Owner, "Handover to the notary", 2),
    ],
    purchases: &[buy::EXTRACT, buy::FILING, buy::CLEARING],
};

pub(super) const CADASTRE: JobType = JobType {
    share: 5,
    subjects: &[
        subject(
            "cadastral update, sheet {section}",
            "Update the sheet: add new buildings, remove demolished ones, renumber {parcels} parcels.",
            &["Land registry"],
        ),
        subject(
            "cadastral reform, sheet {section}",
            "Compare the sheet with the orthophoto, survey what differs, file the changes.",
            &["Land registry"],
        ),
        subject(
            "new buildings, cadastral update, {street}",
            "Survey and file the buildings of {parcels} parcels that the sheet does not show.",
            &["Land registry", "Town council"],
        ),
    ],
    tags: &["cadastre"],
    scales: &["1:500", "1:1000", "1:2000"],
    field_days: (3, 8),
    tasks: &[
        task(Prepare, Analyst, "Comparison with the orthophoto", 6),
        task(Prepare, Manager, "Notice in the town hall", 1),
        task(Field, Crew, "Survey of new buildings", 9),
        task(Field, Crew, "Check of doubtful limits", 6),
        task(Office, Drafter, "Changes to the sheet", 9),
        task(Office, Analyst, "Parcel areas and numbering", 5),
        task(Office, Lawyer, "Responses to objections", 4),
        task(Deliver, Owner, "Filing with the land registry", 3),
    ],
    purchases: &[buy::EXTRACT, buy::FILING],
};
