//! The office: its staff, the communes it works in, and its clients. People go by their role; the
//! communes are fictitious.

use groma_domain::Role;

pub(super) const NAME: &str = "Demo survey office";

/// A member of staff or a regular contractor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staff {
    SurveyLead,
    OfficeManager,
    ProjectSurveyor,
    CrewNorth,
    CrewSouth,
    DrawingOffice,
    GisAnalyst,
    DronePilot,
    Accounts,
    Trainee,
    LandLawAdviser,
}

impl Staff {
    pub(super) const ALL: [Self; 11] = [
        Self::SurveyLead,
        Self::OfficeManager,
        Self::ProjectSurveyor,
        Self::CrewNorth,
        Self::CrewSouth,
        Self::DrawingOffice,
        Self::GisAnalyst,
        Self::DronePilot,
        Self::Accounts,
        Self::Trainee,
        Self::LandLawAdviser,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SurveyLead => "Survey lead",
            Self::OfficeManager => "Office manager",
            Self::ProjectSurveyor => "Project surveyor",
            Self::CrewNorth => "Field crew, north",
            Self::CrewSouth => "Field crew, south",
            Self::DrawingOffice => "Drawing office",
            Self::GisAnalyst => "GIS analyst",
            Self::DronePilot => "Drone pilot",
            Self::Accounts => "Accounts",
            // These two have no account: the store derives this name from their email address.
            Self::Trainee => "Trainee",
            Self::LandLawAdviser => "Land law adviser",
        }
    }

    pub(super) fn email(self) -> String {
        let local = self.name().to_lowercase().replace(',', "").replace(' ', ".");
        format!("{local}@demo.example.test")
    }

    /// The role in the workspace; `None` for people who are named in records but cannot log in.
    pub(super) fn role(self) -> Option<Role> {
        match self {
            Self::SurveyLead => Some(Role::Owner),
            Self::OfficeManager => Some(Role::Admin),
            Self::Accounts => Some(Role::Viewer),
            Self::Trainee | Self::LandLawAdviser => None,
            _ => Some(Role::Editor),
        }
    }

    /// The weekdays (Monday is 0) on which they enter data, and the minute of the day at which
    /// their half hour for it starts. These half hours do not overlap.
    pub(super) fn entry_slot(self) -> (&'static [i64], i64) {
        match self {
            Self::SurveyLead => (&[0, 3], 7 * 60),
            Self::OfficeManager => (&[1, 4], 9 * 60),
            Self::ProjectSurveyor => (&[0, 2], 8 * 60),
            Self::CrewNorth => (&[2, 4], 15 * 60),
            Self::CrewSouth => (&[1, 3], 16 * 60),
            Self::DrawingOffice => (&[0, 3], 14 * 60),
            Self::GisAnalyst => (&[1, 4], 13 * 60),
            Self::DronePilot => (&[3], 12 * 60),
            Self::Accounts => (&[2], 11 * 60),
            Self::Trainee => (&[4], 17 * 60),
            Self::LandLawAdviser => (&[4], 18 * 60),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Commune {
    pub(super) name: &'static str,
    /// The distance from the office by road.
    pub(super) distance_km: i64,
    /// Whether the northern crew is responsible for it.
    pub(super) is_north: bool,
    /// Whether it is across the border, where the currency differs.
    pub(super) is_abroad: bool,
}

const fn north(name: &'static str, distance_km: i64) -> Commune {
    Commune { name, distance_km, is_north: true, is_abroad: false }
}

const fn south(name: &'static str, distance_km: i64) -> Commune {
    Commune { name, distance_km, is_north: false, is_abroad: false }
}

const fn abroad(name: &'static str, distance_km: i64) -> Commune {
    Commune { name, distance_km, is_north: false, is_abroad: true }
}

pub(super) const COMMUNES: [Commune; 44] = [
    north("Chêne", 9),
    north("Vallorme", 4),
    north("Bois-Chênet", 23),
    north("Les Ormelles", 14),
    north("Montbrévin", 31),
    north("La Fresnaye-Basse", 18),
    north("Brécy-la-Rive", 27),
    north("Haute-Semène", 46),
    north("Épinoy-le-Bois", 38),
    north("Clairmesnil", 12),
    north("Vaudremer", 58),
    north("Roche-Églantine", 41),
    north("Gué-d'Orme", 7),
    north("Prêle-le-Marais", 35),
    north("Plessis-aux-Tilleuls", 21),
    north("Moulin-Brûlé", 16),
    north("Île-Haute", 92),
    north("Noirefontelle", 29),
    north("Grand-Échaux", 33),
    north("Petit-Échaux", 35),
    north("Tourbières-en-Plaine", 64),
    south("Fontenière", 11),
    south("Sainte-Combe", 19),
    south("Marsigné", 6),
    south("Aubeterne", 24),
    south("Pré-Mollin", 15),
    south("Côte-Verdière", 37),
    south("Thoré-les-Vignes", 28),
    south("Beaumérac", 52),
    south("Garrigane", 88),
    south("Lussière", 13),
    south("Pont-de-Lière", 22),
    south("Rivebrune", 17),
    south("Mélindre", 44),
    south("Chaumevielle", 61),
    south("Villeneuve-l'Étang", 26),
    south("Ébrelles", 34),
    south("Ourcelles", 10),
    south("Le Vernoux", 49),
    south("Fâvrelle", 30),
    south("Lac-aux-Hérons", 73),
    abroad("Crêt-Dessus", 67),
    abroad("La Joux-Grise", 79),
    abroad("Montfrêtes", 84),
];

pub(super) const STREETS: [&str; 16] = [
    "Chemin du Lavoir",
    "Rue des Tilleuls",
    "Route du Moulin",
    "Place de la Fontaine",
    "Impasse des Érables",
    "Quai de la Rivière",
    "Chemin des Écoliers",
    "Ruelle du Four",
    "Rue de la Gare",
    "Chemin de la Crête",
    "Rue du Château d'Eau",
    "Rue Basse",
    "Allée des Platanes",
    "Chemin du Gué",
    "Rue de l'Église",
    "Rue des Trois Puits",
];

/// Names of fields and hamlets.
pub(super) const FIELDS: [&str; 18] = [
    "Les Grands Prés",
    "Le Clos Neuf",
    "La Croix Blanche",
    "Les Basses Vignes",
    "Le Haut Bois",
    "Les Quatre Vents",
    "La Pièce aux Merles",
    "La Côte Sèche",
    "Le Pré aux Oies",
    "Les Longues Raies",
    "Le Chêne Creux",
    "La Noue",
    "Les Sablons",
    "Le Champ Rond",
    "La Vieille Forge",
    "Les Terres Rouges",
    "Le Vallon",
    "La Fosse aux Loups",
];

/// Clients that are public bodies; their orders have a number.
pub(super) const PUBLIC_CLIENTS: [&str; 11] = [
    "Town council",
    "Roads department",
    "Water board",
    "River authority",
    "Land registry",
    "County council",
    "School authority",
    "Forestry office",
    "Railway infrastructure",
    "Heritage office",
    "Waste authority",
];
