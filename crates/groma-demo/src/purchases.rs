//! What the office spends money on, and with whom. Companies go by their trade.

/// Something that is bought for a folder now and then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purchase {
    pub(super) category: &'static str,
    /// What it says on the slip; `{place}` is the commune.
    pub(super) lines: &'static [&'static str],
    pub(super) vendors: &'static [&'static str],
    /// The price of one in cents, from and to.
    pub(super) price: (i64, i64),
    /// How many, from and to.
    pub(super) quantity: (i64, i64),
    /// How often the client pays for it, in percent.
    pub(super) billable: i64,
}

impl Purchase {
    /// Whether it is paid at a counter rather than used outside.
    pub(super) fn is_paper(&self) -> bool {
        self.category == FEES
    }

    /// Whether a larger work needs more of it.
    pub(super) fn grows(&self) -> bool {
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

/// Whether a category belongs to a budget for what others do, where a folder has one.
pub(super) fn is_bought_in(category: &str) -> bool {
    [HIRE, SUBCONTRACTORS, SOFTWARE].contains(&category)
}

/// Whether a colleague pays for it on the way and gets it back.
pub(super) fn is_own_money(category: &str) -> bool {
    [TRAVEL, MEALS, ACCOMMODATION].contains(&category)
}

/// What it says on the slip when some of it is handed back, where it can be.
pub(super) fn refund(category: &str) -> Option<&'static str> {
    match category {
        HIRE => Some("Deposit returned"),
        MATERIALS => Some("Returned unused"),
        _ => None,
    }
}

pub(super) const LUNCH: Purchase = Purchase {
    category: MEALS,
    lines: &["Lunch on site, {place}", "Crew lunch", "Sandwiches and water, {place}"],
    vendors: &["Bakery, market square", "Canteen by the station", "Roadside grill", "Village café"],
    price: (780, 1_650),
    quantity: (2, 3),
    billable: 5,
};

pub(super) const ROOM: Purchase = Purchase {
    category: ACCOMMODATION,
    lines: &["Overnight stay, crew of two, {place}", "Two rooms, {place}", "Room and breakfast"],
    vendors: &["Hotel by the station", "Guest house, lakeside", "Motorway inn, exit 14"],
    price: (6_400, 11_800),
    quantity: (1, 4),
    billable: 70,
};

pub(super) const TOLL: Purchase = Purchase {
    category: TRAVEL,
    lines: &["Motorway toll", "Motorway toll, there and back"],
    vendors: &["Motorway company"],
    price: (340, 2_180),
    quantity: (1, 1),
    billable: 60,
};

/// Small things that a day outside may bring, whatever the work.
pub(super) const ON_THE_ROAD: &[Purchase] = &[
    Purchase {
        category: TRAVEL,
        lines: &["Parking, {place}", "Parking, residents' zone, {place}"],
        vendors: &["Municipal car park"],
        price: (180, 1_250),
        quantity: (1, 1),
        billable: 40,
    },
    Purchase {
        category: MATERIALS,
        lines: &["Marking paint, fluorescent", "Wooden pegs, bundle of 50", "Survey nails, box"],
        vendors: SUPPLIES,
        price: (640, 3_490),
        quantity: (1, 4),
        billable: 30,
    },
    Purchase {
        category: MATERIALS,
        lines: &["Batteries for the radios", "Prism pole, spare tip", "Flagging tape, 10 rolls"],
        vendors: SUPPLIES,
        price: (890, 4_250),
        quantity: (1, 2),
        billable: 5,
    },
];

/// What any folder may need in the office.
pub(super) const AT_THE_OFFICE: &[Purchase] = &[
    Purchase {
        category: MATERIALS,
        lines: &["Plan prints, A0", "Plan prints, A1, folded", "Bound report, three copies"],
        vendors: &["Plan printing shop", "Copy shop, Rue de la Gare"],
        price: (420, 1_950),
        quantity: (2, 8),
        billable: 80,
    },
    Purchase {
        category: FEES,
        lines: &["Registered letters to neighbours", "Registered letters to owners"],
        vendors: &["Postal service"],
        price: (620, 790),
        quantity: (2, 9),
        billable: 90,
    },
    Purchase {
        category: SOFTWARE,
        lines: &["Drawing software, extra seat, one month", "Symbol library, update"],
        vendors: &["Drawing software house"],
        price: (2_900, 14_500),
        quantity: (1, 2),
        billable: 20,
    },
    Purchase {
        category: FEES,
        lines: &["Correction service, day passes", "Base station data, hourly files"],
        vendors: &["Satellite correction service"],
        price: (1_200, 2_400),
        quantity: (1, 6),
        billable: 50,
    },
];

pub(super) const MARKERS: Purchase = Purchase {
    category: MATERIALS,
    lines: &["Boundary stones, granite", "Boundary markers, resin", "Boundary bolts, brass"],
    vendors: &["Stone mason's yard", "Survey supplies, mail order"],
    price: (950, 3_900),
    quantity: (4, 24),
    billable: 95,
};

pub(super) const EXTRACT: Purchase = Purchase {
    category: FEES,
    lines: &["Land registry extracts", "Cadastral plan, certified copy", "Deeds, copies"],
    vendors: &["Land registry", "Notary's office, town centre"],
    price: (1_200, 3_400),
    quantity: (1, 8),
    billable: 95,
};

pub(super) const FILING: Purchase = Purchase {
    category: FEES,
    lines: &["Filing of the plan", "Registration fee", "Filing of the deed plan"],
    vendors: &["Land registry"],
    price: (4_500, 19_800),
    quantity: (1, 2),
    billable: 100,
};

pub(super) const GNSS_HIRE: Purchase = Purchase {
    category: HIRE,
    lines: &["GNSS receiver, second pair, days", "GNSS base and rover, days"],
    vendors: DEPOTS,
    price: (7_800, 14_500),
    quantity: (1, 6),
    billable: 40,
};

pub(super) const SCANNER_HIRE: Purchase = Purchase {
    category: HIRE,
    lines: &["Laser scanner, days", "Laser scanner with targets, days"],
    vendors: DEPOTS,
    price: (28_000, 46_000),
    quantity: (1, 5),
    billable: 75,
};

pub(super) const LOCATOR_HIRE: Purchase = Purchase {
    category: HIRE,
    lines: &["Cable locator, days", "Ground radar cart, days"],
    vendors: DEPOTS,
    price: (9_500, 32_000),
    quantity: (1, 5),
    billable: 70,
};

pub(super) const LEVEL_HIRE: Purchase = Purchase {
    category: HIRE,
    lines: &["Digital level with invar staffs, days", "Total station, half second, days"],
    vendors: DEPOTS,
    price: (8_400, 16_500),
    quantity: (1, 6),
    billable: 60,
};

pub(super) const BOAT_HIRE: Purchase = Purchase {
    category: HIRE,
    lines: &["Flat boat with helmsman, days", "Echo sounder, days"],
    vendors: &["Boat hire, marina", "Instrument hire, south depot"],
    price: (19_000, 42_000),
    quantity: (1, 4),
    billable: 85,
};

pub(super) const DRONE_PARTS: Purchase = Purchase {
    category: MATERIALS,
    lines: &["Ground targets, set", "Drone batteries, pair", "Propellers, two sets"],
    vendors: &["Drone workshop", "Survey supplies, mail order"],
    price: (2_900, 21_000),
    quantity: (1, 2),
    billable: 25,
};

pub(super) const CLOUD: Purchase = Purchase {
    category: SOFTWARE,
    lines: &["Cloud processing, point cloud", "Cloud processing, orthophoto"],
    vendors: &["Mapping cloud service"],
    price: (3_900, 24_000),
    quantity: (1, 2),
    billable: 45,
};

pub(super) const FLIGHT_PERMIT: Purchase = Purchase {
    category: FEES,
    lines: &["Flight permit, built-up area", "Airspace clearance"],
    vendors: &["Aviation authority", "Airfield control desk"],
    price: (3_500, 12_500),
    quantity: (1, 1),
    billable: 90,
};

pub(super) const ROAD_PERMIT: Purchase = Purchase {
    category: FEES,
    lines: &["Permit for work on the carriageway", "Street occupation, days"],
    vendors: &["Roads department, permit desk", "Town hall counter"],
    price: (2_400, 8_900),
    quantity: (1, 5),
    billable: 95,
};

pub(super) const TRAFFIC: Purchase = Purchase {
    category: SUBCONTRACTORS,
    lines: &["Traffic management, one lane, days", "Alternating lights and signs, days"],
    vendors: &["Traffic management company"],
    price: (38_000, 74_000),
    quantity: (1, 4),
    billable: 95,
};

pub(super) const CLEARING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    lines: &["Clearing of sight lines, {place}", "Hedge and brush cutting along the line"],
    vendors: &["Green space crew, valley", "Forestry contractor"],
    price: (24_000, 58_000),
    quantity: (1, 3),
    billable: 90,
};

pub(super) const LOCATING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    lines: &["Camera inspection of the sewer, {place}", "Vacuum trenches, pieces"],
    vendors: &["Drain inspection company", "Utility locating company"],
    price: (31_000, 88_000),
    quantity: (1, 4),
    billable: 95,
};

pub(super) const MODELLING: Purchase = Purchase {
    category: SUBCONTRACTORS,
    lines: &["Modelling of the point cloud, {place}", "3D model, level of detail 3"],
    vendors: &["Laser scanning bureau", "Modelling studio"],
    price: (65_000, 290_000),
    quantity: (1, 1),
    billable: 90,
};
