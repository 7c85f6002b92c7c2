//! Jobs about the terrain.

use super::{
    JobType,
    Phase::{Deliver, Field, Office, Prepare},
    TaskRole::{Analyst, Crew, Drafter, Manager, Owner, Pilot},
    subject, task,
};
use crate::purchases as buy;

pub(super) const TOPOGRAPHY: JobType = JobType {
    share: 15,
    subjects: &[
        subject(
            "school extension, topography",
            "Existing ground, buildings, trees and covers, as a base for the extension.",
            &["School authority", "Architects' office"],
        ),
        subject(
            "topographic survey, {street}",
            "Street from facade to facade, with threshold heights and all visible parts of the networks.",
            &["Town council", "Architects' office"],
        ),
        subject(
            "village square, topography",
            "Ground, trees, walls and covers for the redesign of the square.",
            &["Town council"],
        ),
        subject(
            "sports ground {field}, topography",
            "Existing ground with contours every 25 cm over {hectares} ha.",
            &["Town council", "County council"],
        ),
        subject(
            "plot {field}, existing ground",
            "Topographic plan with contours every 25 cm for the building permit.",
            &["Housing developer", "Architects' office"],
        ),
    ],
    tags: &["topography"],
    scales: &["1:100", "1:200", "1:500"],
    field_days: (2, 8),
    tasks: &[
        task(Prepare, Drafter, "Request for network plans", 2),
        task(Field, Crew, "Control points and benchmarks", 4),
        task(Field, Crew, "Detail survey, ground and breaklines", 11),
        task(Field, Crew, "Facades and thresholds", 6),
        task(Field, Crew, "Trees and hedges", 4),
        task(Office, Drafter, "Terrain model and contours", 6),
        task(Office, Drafter, "Topographic plan", 12),
        task(Office, Drafter, "Sections", 5),
        task(Deliver, Owner, "Check and delivery", 3),
    ],
    purchases: &[buy::GNSS_HIRE, buy::SCANNER_HIRE, buy::CLOUD, buy::CLEARING],
};

pub(super) const CONTROL: JobType = JobType {
    share: 6,
    subjects: &[
        subject(
            "control network",
            "Network of permanent points, adjusted, with a description of each point.",
            &["County council", "Town council"],
        ),
        subject(
            "GNSS control, {field}",
            "Points for machine guidance over {hectares} ha, checked every quarter.",
            &["Earthworks company", "Solar park operator"],
        ),
        subject(
            "bypass, control points, lot {lot}",
            "Pillars and bolts along the lot, tied to the national network, for all contractors on the lot.",
            &["Roads department", "Road builder"],
        ),
        subject(
            "levelling loop, {street}",
            "New benchmarks tied to the national levelling, closing error under 2 mm per kilometre.",
            &["Water board", "Railway infrastructure"],
        ),
    ],
    tags: &["control", "gnss"],
    scales: &["1:1000", "1:2000"],
    field_days: (3, 8),
    tasks: &[
        task(Prepare, Owner, "Network design", 5),
        task(Field, Crew, "Reconnaissance of points", 6),
        task(Field, Crew, "Set bolts and pillars", 8),
        task(Field, Crew, "Static GNSS, first session", 5),
        task(Field, Crew, "Static GNSS, second session", 5),
        task(Field, Crew, "Precise levelling", 10),
        task(Office, Analyst, "Adjustment", 7),
        task(Office, Drafter, "Point descriptions", 5),
        task(Deliver, Owner, "Report and delivery", 4),
    ],
    purchases: &[buy::GNSS_HIRE, buy::LEVEL_HIRE, buy::MARKERS],
};

pub(super) const DRONE: JobType = JobType {
    share: 10,
    subjects: &[
        subject(
            "drone flight, {field}",
            "Flight over {hectares} ha with ground targets; orthophoto at 2 cm and a coloured point cloud.",
            &["Vineyard estate", "Solar park operator", "Town council"],
        ),
        subject(
            "church roof, drone model",
            "Oblique photos of roof and tower, textured model for the restoration file.",
            &["Heritage office", "Town council"],
        ),
        subject(
            "industrial estate, orthophoto, lot {lot}",
            "Orthophoto at 2 cm and heights of the halls, as a base for the roof cadastre.",
            &["County council", "Solar park operator"],
        ),
        subject(
            "hillside {field}, drone flight",
            "Terrain under sparse trees over {hectares} ha, for the slope study.",
            &["Forestry office", "County council"],
        ),
    ],
    tags: &["drone", "orthophoto"],
    scales: &["1:250", "1:1000"],
    field_days: (1, 3),
    tasks: &[
        task(Prepare, Pilot, "Flight plan and permits", 4),
        task(Prepare, Manager, "Notice to residents", 1),
        task(Field, Crew, "Ground targets", 4),
        task(Field, Pilot, "Flight", 6),
        task(Field, Pilot, "Oblique photos", 4),
        task(Office, Pilot, "Orientation and point cloud", 8),
        task(Office, Analyst, "Orthophoto mosaic", 6),
        task(Office, Analyst, "Classification of the ground", 7),
        task(Deliver, Owner, "Delivery and data handover", 2),
    ],
    purchases: &[buy::FLIGHT_PERMIT, buy::DRONE_PARTS, buy::CLOUD, buy::MODELLING],
};

pub(super) const VOLUMES: JobType = JobType {
    share: 7,
    subjects: &[
        subject(
            "quarry volumes, {season}",
            "Volumes moved since the last survey, by bench, with a plan of differences.",
            &["Quarry operator"],
        ),
        subject(
            "gravel pit {field}, volumes, {season}",
            "Gravel extracted since the last survey, above and below water, for the permit.",
            &["Quarry operator", "Road builder"],
        ),
        subject(
            "landfill cell {lot}, volumes",
            "Fill volume and remaining capacity of the cell, with settlement since last year.",
            &["Waste authority"],
        ),
        subject(
            "stockpiles, {season} inventory",
            "Inventory of stockpiles by material, signed statement for the accounts.",
            &["Earthworks company", "Quarry operator"],
        ),
    ],
    tags: &["volumes", "drone"],
    scales: &["1:500", "1:1000"],
    field_days: (1, 3),
    tasks: &[
        task(Prepare, Owner, "Safety briefing with the operator", 2),
        task(Field, Crew, "Check of the control points", 3),
        task(Field, Pilot, "Flight over the site", 4),
        task(Field, Crew, "Toe and crest lines by GNSS", 5),
        task(Office, Pilot, "Surface model", 5),
        task(Office, Analyst, "Volumes and differences", 5),
        task(Office, Drafter, "Plan of differences", 4),
        task(Deliver, Owner, "Volume statement", 2),
    ],
    purchases: &[buy::DRONE_PARTS, buy::GNSS_HIRE, buy::CLOUD],
};

pub(super) const WATER: JobType = JobType {
    share: 4,
    subjects: &[
        subject(
            "flood line, left bank",
            "Marks of the last flood and bank heights, as a base for the risk plan.",
            &["River authority", "County council"],
        ),
        subject(
            "river bed, cross sections",
            "Cross sections every 50 m from bank to bank, with water level and bridges.",
            &["River authority", "Water board"],
        ),
        subject(
            "pond {field}, soundings",
            "Soundings and banks over {hectares} ha, silt thickness by probe.",
            &["Fishing association", "Water board"],
        ),
    ],
    tags: &["water", "bathymetry"],
    scales: &["1:500", "1:1000"],
    field_days: (3, 7),
    tasks: &[
        task(Prepare, Owner, "Boat, permits and water levels", 4),
        task(Field, Crew, "Control along the banks", 6),
        task(Field, Crew, "Bank profiles", 9),
        task(Field, Crew, "Soundings", 10),
        task(Field, Crew, "Bridges, weirs and outlets", 5),
        task(Office, Drafter, "Cross sections", 10),
        task(Office, Analyst, "Bed model and water line", 7),
        task(Deliver, Owner, "Delivery to the hydraulic engineer", 2),
    ],
    purchases: &[buy::BOAT_HIRE, buy::CLEARING],
};
