//! What the office buys, and from whom. Companies go by their trade.

/// A kind of purchase that a folder may need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purchase {
    pub(super) category: &'static str,
    /// What the receipt says; `{commune}` stands for the commune's name.
    pub(super) descriptions: &'static [&'static str],
    pub(super) vendors: &'static [&'static str],
    /// The range of the unit price in cents.
    pub(super) unit_cents: (i64, i64),
    /// The range of the quantity.
    pub(super) quantity: (i64, i64),
    /// How often it is billed to the client.
    pub(super) billable_percent: i64,
}

impl Purchase {
    /// Whether it is paid during office work rather than field work.
    pub(super) fn is_office_cost(&self) -> bool {
        self.category == FEES
    }

    /// Whether a larger job needs more of it.
    pub(super) fn scales_with_size(&self) -> bool {
        [HIRE, SUBCONTRACTORS].contains(&self.category)
    }
}

const HIRE: &str = "Equipment hire";
const MATERIALS: &str = "Materials";
const FEES: &str = "Fees";
const SUBCONTRACTORS: &str = "Subcontractors";
pub(super) const TRAVEL: &str = "Travel";
const MEALS: &str = "Meals";
const ACCOMMODATION: &str = "Accommodation";
const SOFTWARE: &str = "Software";

const SUPPLIES: &[&str] = &["Survey supplies, mail order", "Hardware store, ring road"];
const DEPOTS: &[&str] = &["Instrument hire, north depot", "Instrument hire, south depot"];

/// Whether a category belongs to the budget for external services, if a folder has one.
pub(super) fn is_external(category: &str) -> bool {
    [HIRE, SUBCONTRACTORS, SOFTWARE].contains(&category)
}

/// Whether staff pay for it themselves and are reimbursed.
pub(super) fn is_reimbursed(category: &str) -> bool {
    [TRAVEL, MEALS, ACCOMMODATION].contains(&category)
}

/// The receipt's wording for a refund, for categories that can have one.
pub(super) fn refund_label(category: &str) -> Option<&'static str> {
    match category {
        HIRE => Some("Deposit returned"),
        MATERIALS => Some("Returned unused"),
        _ => None,
    }
}

pub(super) const MEAL: Purchase = Purchase {
    category: MEALS,
    descriptions: &["Lunch on site, {commune}", "Crew lunch", "Sandwiches and water, {commune}"],
    vendors: &["Bakery, market square", "Canteen by the station", "Roadside grill", "Village café"],
    unit_cents: (780, 1_650),
    quantity: (2, 3),
    billable_percent: 5,
};

pub(super) const OVERNIGHT_STAY: Purchase = Purchase {
    category: ACCOMMODATION,
    descriptions: &[
        "Overnight stay, crew of two, {commune}",
        "Two rooms, {commune}",
        "Room and breakfast",
    ],
    vendors: &["Hotel by the station", "Guest house, lakeside", "Motorway inn, exit 14"],
    unit_cents: (6_400, 11_800),
    quantity: (1, 4),
    billable_percent: 70,
};

pub(super) const TOLL: Purchase = Purchase {
    category: TRAVEL,
    descriptions: &["Motorway toll", "Motorway toll, return trip"],
    vendors: &["Motorway company"],
    unit_cents: (340, 2_180),
    quantity: (1, 1),
    billable_percent: 60,
};

/// Small purchases that any day in the field may need.
pub(super) const FIELD_EXTRAS: &[Purchase] = &[
    Purchase {
        category: TRAVEL,
        descriptions: &["Parking, {commune}", "Parking, residents' zone, {commune}"],
        vendors: &["Municipal car park"],
        unit_cents: (180, 1_250),
        quantity: (1, 1),
        billable_percent: 40,
    },
    Purchase {
        category: MATERIALS,
        descriptions: &[
            "Marking paint, fluorescent",
            "Wooden pegs, bundle of 50",
            "Survey nails, box",
        ],
        vendors: SUPPLIES,
        unit_cents: (640, 3_490),
        quantity: (1, 4),
        billable_percent: 30,
    },
    Purchase {
        category: MATERIALS,
        descriptions: &[
            "Batteries for the radios",
            "Prism pole, spare tip",
            "Flagging tape, 10 rolls",
        ],
        vendors: SUPPLIES,
        unit_cents: (890, 4_250),
        quantity: (1, 2),
        billable_percent: 5,
    },
];

/// Purchases that any folder may need in the office.
pub(super) const OFFICE_EXTRAS: &[Purchase] = &[
    Purchase {
        category: MATERIALS,
        descriptions: &["Plan prints, A0", "Plan prints, A1, folded", "Bound report, three copies"],
        vendors: &["Plan printing shop", "Copy shop, Rue de la Gare"],
        unit_cents: (420, 1_950),
        quantity: (2, 8),
        billable_percent: 80,
    },
    Purchase {
        category: FEES,
        descriptions: &["Registered letters to neighbours", "Registered letters to owners"],
        vendors: &["Postal service"],
        unit_cents: (620, 790),
        quantity: (2, 9),
        billable_percent: 90,
    },
    Purchase {
        category: SOFTWARE,
        descriptions: &["CAD licence, extra seat, one month", "Symbol library, update"],
        vendors: &["CAD software vendor"],
        unit_cents: (2_900, 14_500),
        quantity: (1, 2),
        billable_percent: 20,
    },
    Purchase {
        category: FEES,
        descriptions: &["Correction service, day passes", "Base station data, hourly files"],
        vendors: &["Satellite correction service"],
        unit_cents: (1_200, 2_400),
        quantity: (1, 6),
        billable_percent: 50,
    },
];

pub(super) const MARKERS: Purchase = Purchase {
    category: MATERIALS,
    descriptions: &["Boundary stones, granite", "Boundary markers, resin", "Boundary bolts, brass"],
    vendors: &["Stone mason's yard", "Survey supplies, mail order"],
    unit_cents: (950, 3_900),
    quantity: (4, 24),
    billable_percent: 95,
};

pub(super) const EXTRACT: Purchase = Purchase {
    category: FEES,
    descriptions: &["Land registry extracts", "Cadastral plan, certified copy", "Deeds, copies"],
    vendors: &["Land registry", "Notary's office, town centre"],
    unit_cents: (1_200, 3_400),
    quantity: (1, 8),
    billable_percent: 95,
};

pub(super) const FILING: Purchase = Purchase {
    category: FEES,
    descriptions: &["Filing of the plan", "Registration fee", "Filing of the deed plan"],
    vendors: &["Land registry"],
    unit_cents: (4_500, 19_800),
    quantity: (1, 2),
    billable_percent: 100,
};

pub(super) const GNSS_HIRE: Purchase = Purchase {
    category: HIRE,
    descriptions: &["GNSS receiver, second pair, days", "GNSS base and rover, days"],
    vendors: DEPOTS,
    unit_cents: (7_800, 14_500),
    quantity: (1, 6),
    billable_percent: 40,
};

pub(super) const SCANNER_HIRE: Purchase = Purchase {
    category: HIRE,
    descriptions: &["Laser scanner, days", "Laser scanner with targets, days"],
    vendors: DEPOTS,
    unit_cents: (28_000, 46_000),
    quantity: (1, 5),
    billable_percent: 75,
};

pub(super) const LOCATOR_HIRE: Purchase = Purchase {
    category: HIRE,
    descriptions: &["Cable locator, days", "Ground radar cart, days"],
    vendors: DEPOTS,
    unit_cents: (9_500, 32_000),
    quantity: (1, 5),
    billable_percent: 70,
};

pub(super) const LEVEL_HIRE: Purchase = Purchase {
    category: HIRE,
    descriptions: &["Digital level with invar staffs, days", "Total station, half second, days"],
    vendors: DEPOTS,
    unit_cents: (8_400, 16_500),
    quantity: (1, 6),
    billable_percent: 60,
};

pub(super) const BOAT_HIRE: Purchase = Purchase {
    category: HIRE,
    descriptions: &["Flat boat with skipper, days", "Echo sounder, days"],
    vendors: &["Boat hire, marina", "Instrument hire, south depot"],
    unit_cents: (19_000, 42_000),
    quantity: (1, 4),
    billable_percent: 85,
};

pub(super) const DRONE_PARTS: Purchase = Purchase {
    category: MATERIALS,
    descriptions: &["Ground targets, set", "Drone batteries, pair", "Propellers, two sets"],
    vendors: &["Drone workshop", "Survey supplies, mail order"],
    unit_cents: (2_900, 21_000),
    quantity: (1, 2),
    billable_percent: 25,
};

pub(super) const CLOUD: Purchase = Purchase {
    category: SOFTWARE,
    descriptions: &["Cloud processing, point cloud", "Cloud processing, orthophoto"],
    vendors: &["Mapping cloud service"],
    unit_cents: (3_900, 24_000),
    quantity: (1, 2),
    billable_percent: 45,
};

pub(super) const FLIGHT_PERMIT: Purchase = Purchase {
    category: FEES,
    descriptions: &["Flight permit, built-up area", "Airspace clearance"],
    vendors: &["Aviation authority", "Airfield operator"],
    unit_cents: (3_500, 12_500),
    quantity: (1, 1),
    billable_percent: 90,
};

pub(super) const ROAD_PERMIT: Purchase = Purchase {
    category: FEES,
    descriptions: &["Permit for work on the carriageway", "Street occupancy permit, days"],
    vendors: &["Roads department, permit desk", "Town hall counter"],
    unit_cents: (2_400, 8_900),
    quantity: (1, 5),
    billable_percent: 95,
};

pub(super) const TRAFFIC: Purchase = Purchase {
    category: SUBCONTRACTORS,
    descriptions: &["Traffic management, one lane, days", "Alternating lights and signs, days"],
    vendors: &["Traffic management company"],
    unit_cents: (38_000, 74_000),
    quantity: (1, 4),
    billable_percent: 95,
};

pub(super) const CLEARING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    descriptions: &["Clearing sight lines, {commune}", "Hedge and brush cutting along the line"],
    vendors: &["Landscaping company", "Forestry contractor"],
    unit_cents: (24_000, 58_000),
    quantity: (1, 3),
    billable_percent: 90,
};

pub(super) const LOCATING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    descriptions: &["Camera inspection of the sewer, {commune}", "Vacuum excavation, trenches"],
    vendors: &["Drain inspection company", "Utility locating company"],
    unit_cents: (31_000, 88_000),
    quantity: (1, 4),
    billable_percent: 95,
};

pub(super) const MODELLING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    descriptions: &["Point cloud modelling, {commune}", "3D model, level of detail 3"],
    vendors: &["Laser scanning bureau", "Modelling studio"],
    unit_cents: (65_000, 290_000),
    quantity: (1, 1),
    billable_percent: 90,
};
