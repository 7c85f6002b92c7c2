//! Jobs about buildings, roads and networks.

use super::{
    JobType,
    Phase::{Deliver, Field, Office, Prepare},
    TaskRole::{Analyst, Crew, Drafter, Manager, Owner},
    subject, task,
};
use crate::purchases as buy;

pub(super) const AS_BUILT: JobType = JobType {
    share: 11,
    subjects: &[
        subject(
            "ring road, as-built, lot {lot}",
            "Record kerbs, drains and levels as built, for the final account.",
            &["Roads department", "Road builder"],
        ),
        subject(
            "roundabout {field}, as-built",
            "As-built plan and levels for acceptance; tolerance 2 cm in position, 1 cm in height.",
            &["Roads department", "Road builder"],
        ),
        subject(
            "housing estate {field}, as-built",
            "Streets, networks and levels as built, for handover to the town.",
            &["Housing developer", "Town council"],
        ),
        subject(
            "car park {street}, as-built",
            "Record kerbs, drains, lamps and trees for the register of works.",
            &["Town council", "Road builder"],
        ),
    ],
    tags: &["as-built", "roads"],
    scales: &["1:200", "1:500"],
    field_days: (3, 9),
    tasks: &[
        task(Prepare, Owner, "Site access and safety plan", 3),
        task(Prepare, Drafter, "Load project model onto field tablets", 4),
        task(Field, Crew, "Traverse along the works", 6),
        task(Field, Crew, "Kerbs and edges", 10),
        task(Field, Crew, "Manholes and drains, levels", 8),
        task(Field, Crew, "Signs, lights and trees", 6),
        task(Office, Drafter, "Comparison with the project", 8),
        task(Office, Drafter, "As-built plan", 14),
        task(Office, Analyst, "Asset list for the register", 6),
        task(Deliver, Owner, "Acceptance meeting", 3),
    ],
    purchases: &[buy::ROAD_PERMIT, buy::TRAFFIC, buy::LEVEL_HIRE, buy::SCANNER_HIRE],
};

pub(super) const SET_OUT: JobType = JobType {
    share: 9,
    subjects: &[
        subject(
            "set-out, apartment building {lot}",
            "Axes and levels for the foundations, batter boards, check after each pour.",
            &["Housing cooperative", "Building company"],
        ),
        subject(
            "set-out, warehouse {field}",
            "Column grid and anchor bolts, tolerance 3 mm, check before each delivery of steel.",
            &["Building company", "Logistics company"],
        ),
        subject(
            "set-out, nursery school",
            "Set out the building from the permit plan, with a record for the site manager.",
            &["School authority", "Building company"],
        ),
        subject(
            "set-out, farm building, {field}",
            "Axes and one level for a cattle shed; the slab slopes two percent towards the drain.",
            &["Farm cooperative"],
        ),
    ],
    tags: &["set-out", "construction"],
    scales: &["1:50", "1:100"],
    field_days: (2, 7),
    tasks: &[
        task(Prepare, Drafter, "Set-out file from the architect's plan", 4),
        task(Prepare, Owner, "Check of the permit plan", 2),
        task(Field, Crew, "Site control and level", 4),
        task(Field, Crew, "Excavation limits", 4),
        task(Field, Crew, "Axes on batter boards", 6),
        task(Field, Crew, "Check of the foundations", 4),
        task(Field, Crew, "Axes on the slab", 5),
        task(Office, Drafter, "Set-out record", 3),
        task(Deliver, Owner, "Handover to the site manager", 2),
    ],
    purchases: &[buy::LEVEL_HIRE],
};

pub(super) const UTILITIES: JobType = JobType {
    share: 8,
    subjects: &[
        subject(
            "sewer network, inventory, sector {lot}",
            "Inventory of manholes: position, cover, invert levels, condition, photos.",
            &["Water board", "Town council"],
        ),
        subject(
            "buried networks, {street}",
            "Locate and classify buried networks to class A, with depths, along the street.",
            &["Power grid operator", "District heating company", "Town council"],
        ),
        subject(
            "telecom ducts, {street}",
            "Chambers and ducts from end to end with a count of free ducts; class A at gas crossings.",
            &["Telecom operator", "Town council"],
        ),
        subject(
            "drinking water, valves and hydrants",
            "Valves, hydrants and meters with position, depth and photo.",
            &["Water board"],
        ),
    ],
    tags: &["utilities", "underground"],
    scales: &["1:200"],
    field_days: (4, 11),
    tasks: &[
        task(Prepare, Manager, "Enquiry to the network operators", 3),
        task(Prepare, Owner, "Traffic and safety plan", 4),
        task(Field, Crew, "Marking with the locator", 12),
        task(Field, Crew, "Covers, valves and depths", 14),
        task(Field, Crew, "Ground radar lines", 8),
        task(Field, Crew, "Survey of the marks", 8),
        task(Office, Analyst, "Network topology", 9),
        task(Office, Analyst, "Attributes and photos", 8),
        task(Office, Drafter, "Network plan", 10),
        task(Deliver, Owner, "Data delivery and accuracy report", 4),
    ],
    purchases: &[buy::LOCATOR_HIRE, buy::ROAD_PERMIT, buy::TRAFFIC, buy::LOCATING],
};

pub(super) const MONITORING: JobType = JobType {
    share: 3,
    subjects: &[
        subject(
            "retaining wall {street}, monitoring",
            "Repeated measurement of targets, alarm at 5 mm, report after each epoch.",
            &["Roads department", "Housing cooperative"],
        ),
        subject(
            "viaduct, monitoring, {season}",
            "Zero measurement and four epochs; movement vectors by pier.",
            &["Railway infrastructure", "Roads department"],
        ),
        subject(
            "slope {field}, monitoring",
            "Targets on the slope above the road, four epochs, vectors and a note on causes.",
            &["County council", "Roads department"],
        ),
    ],
    tags: &["monitoring"],
    scales: &["1:100", "1:200"],
    field_days: (6, 14),
    tasks: &[
        task(Prepare, Owner, "Monitoring plan and alarm levels", 5),
        task(Field, Crew, "Install targets", 7),
        task(Field, Crew, "Zero measurement", 6),
        task(Field, Crew, "First epoch", 5),
        task(Field, Crew, "Second epoch", 5),
        task(Field, Crew, "Third epoch", 5),
        task(Field, Crew, "Fourth epoch", 5),
        task(Office, Analyst, "Displacements and charts", 8),
        task(Deliver, Owner, "Monitoring report", 5),
    ],
    purchases: &[buy::LEVEL_HIRE, buy::MARKERS],
};
