//! The office's atlas: the communes drawn as parcels, streets and points, and what each folder's
//! work outside adds. The same story always draws the same atlas.

mod fieldwork;
mod location;
mod village;

pub(super) use fieldwork::{Fieldwork, Site};

use super::{
    calendar::Day,
    office::{PLACES, Place},
    rng::Chance,
};
use fieldwork::{Haul, NETWORKS, hundredths};
use groma_domain::layer::LayerKey;
use groma_geo::{Geometry, geojson::Feature};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, ops::Range};
use village::{Parcel, Village};

const SEED: u64 = 47_015;
/// How many parcels a section has, about.
const SECTION: usize = 300;

/// A layer of the atlas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sheet {
    Parcels,
    Points,
    Utilities,
    /// Where everything goes that names no layer.
    Submissions,
}

impl Sheet {
    /// Its name and the key of its layer, if it is made in advance.
    pub(super) fn layer(self) -> Option<(&'static str, LayerKey)> {
        let slug = |slug: &str| LayerKey::Slug(slug.to_owned());
        match self {
            Self::Parcels => Some(("Parcels", slug("parcels"))),
            Self::Points => Some(("Survey points", slug("survey-points"))),
            Self::Utilities => Some(("Utilities", slug("utilities"))),
            Self::Submissions => None,
        }
    }
}

pub(super) struct Atlas {
    villages: Vec<Village>,
    /// How many parcels of a commune's section folders have taken.
    taken: HashMap<(usize, String), usize>,
}

impl Atlas {
    /// Draws communes with about so many parcels in all, and the sections that works are about.
    pub(super) fn draw<'w>(
        parcels: usize,
        works: &(impl Iterator<Item = &'w Fieldwork> + Clone),
    ) -> Self {
        let mut chance = Chance::new(SEED);
        let mut by_size: Vec<(i64, usize)> =
            (0..PLACES.len()).map(|index| (chance.between(0, 1 << 40), index)).collect();
        by_size.sort_unstable();
        // A few towns, many villages.
        let size = |rank: usize| (rank as f64 + 1.0).powf(-0.6);
        let all: f64 = (0..PLACES.len()).map(size).sum();
        let mut ranks: Vec<(usize, usize)> =
            by_size.iter().enumerate().map(|(rank, (_, index))| (*index, rank)).collect();
        ranks.sort_unstable();
        let village = |(index, rank): (usize, usize)| {
            let lots = ((parcels as f64 * size(rank) / all) as usize).max(20);
            let sections = sections(PLACES[index], lots.div_ceil(SECTION), works.clone());
            Village::plan(PLACES[index], lots, &sections, chance.branch())
        };
        Self { villages: ranks.into_iter().map(village).collect(), taken: HashMap::new() }
    }

    /// Every parcel.
    pub(super) fn cadastre(&self) -> impl Iterator<Item = Feature> {
        self.villages
            .iter()
            .flat_map(|village| village.parcels.iter().map(|one| parcel(village, one, None)))
    }

    /// The mains that the operators of the networks handed out.
    pub(super) fn networks(&self) -> impl Iterator<Item = Feature> {
        self.villages.iter().enumerate().flat_map(|(index, village)| {
            let mut chance = Chance::new(SEED + 1_000 + index as u64);
            let mut lines = Vec::new();
            for street in &village.streets {
                for network in NETWORKS {
                    if !chance.happens(network.percent) {
                        continue;
                    }
                    let depth = chance.between(network.depth.0, network.depth.1);
                    let properties = json!({
                        "network": network.name,
                        "kind": "main",
                        "material": chance.pick(network.materials),
                        "depth_m": hundredths(depth),
                        "accuracy_class": "C",
                    });
                    let id = format!("{}-N{}", village.slug, lines.len() + 1);
                    lines.push(feature(Some(id), network.along(village, *street), properties));
                }
            }
            lines
        })
    }

    /// The points that the communes were measured from before there was an office.
    pub(super) fn control(&self, day: Day) -> impl Iterator<Item = Feature> {
        self.villages.iter().enumerate().flat_map(move |(index, village)| {
            let mut chance = Chance::new(SEED + 2_000 + index as u64);
            (1..=10 + village.parcels.len() / 40).map(move |number| {
                let street = chance.pick(&village.streets);
                let end = if chance.happens(50) { street.from } else { street.to };
                let aside = chance.real(-60.0, 60.0);
                let mut plan = end;
                let along = if street.from.y == street.to.y { &mut plan.x } else { &mut plan.y };
                *along += aside;
                let (class, method, accuracy) = match number % 4 {
                    0 => ("benchmark", "levelling", chance.between(1, 3)),
                    _ => ("control", "static GNSS", chance.between(3, 12)),
                };
                let position = village.measured(village.ground(plan));
                let properties = json!({
                    "class": class,
                    "method": method,
                    "marker": "bolt",
                    "accuracy_mm": accuracy,
                    "height_m": position.z,
                    "measured_on": day.plus(-chance.between(40, 4_000)).text(),
                });
                let id = format!("{}-C{number}", village.slug);
                feature(Some(id), Geometry::Point(position), properties)
            })
        })
    }

    /// What this work brings in; the ids of its features begin with `reference`.
    pub(super) fn bring_in(
        &mut self,
        work: &Fieldwork,
        reference: &str,
    ) -> Vec<(Sheet, Vec<Feature>)> {
        let index = self.villages.iter().position(|village| village.place.name == work.place);
        let Some(index) = index else { return Vec::new() };
        let parcels = match &work.site {
            Site::Parcels { section, count } => self.take(index, section, *count),
            _ => 0..0,
        };
        Haul::new(&self.villages[index], work, reference).bring_in(parcels)
    }

    /// Parcels of a section that stand next to each other and that no folder has, if there are any
    /// left.
    fn take(&mut self, village: usize, section: &str, count: usize) -> Range<usize> {
        let parcels = &self.villages[village].parcels;
        let first = parcels.iter().position(|parcel| parcel.section == section).unwrap_or_default();
        let length = parcels.iter().filter(|parcel| parcel.section == section).count();
        let taken = self.taken.entry((village, section.to_owned())).or_default();
        if *taken + count > length {
            *taken = 0;
        }
        let start = first + *taken;
        *taken += count;
        start..start + count.min(length)
    }
}

/// The sections of a commune: those that works are about, and others up to `least`.
fn sections<'w>(
    place: Place,
    least: usize,
    works: impl Iterator<Item = &'w Fieldwork>,
) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    for work in works.filter(|work| work.place == place.name) {
        if let Site::Parcels { section, .. } = &work.site
            && !sections.contains(section)
        {
            sections.push(section.clone());
        }
    }
    let more = ('A'..='C').flat_map(|one| ('A'..='Z').map(move |other| format!("{one}{other}")));
    for section in more {
        if sections.len() >= least.max(1) {
            break;
        }
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

/// A parcel, with the day on which its corners were measured if they were.
fn parcel(village: &Village, parcel: &Parcel, surveyed: Option<Day>) -> Feature {
    let id = format!("{}-{}-{:04}", village.slug, parcel.section, parcel.number);
    let properties = json!({
        "commune": village.place.name,
        "section": parcel.section,
        "number": parcel.number,
        "area_m2": parcel.square_metres(),
        "land_use": parcel.land_use,
        "surveyed_on": surveyed.map(Day::text),
    });
    feature(Some(id), village.area(&parcel.corners), properties)
}

/// A feature with these properties, those that are null left out.
fn feature(external_id: Option<String>, geometry: Geometry, properties: Value) -> Feature {
    let mut properties = match properties {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    properties.retain(|_, value| !value.is_null());
    Feature { external_id, geometry: Some(geometry), properties, index: None, line: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_geo::{
        Bbox,
        geojson::{self, Options, write_geometry},
    };

    fn work(place: &'static str, site: Site) -> Fieldwork {
        let day = Day::of(groma_domain::Timestamp::parse("2026-03-02T12:00:00Z").unwrap());
        Fieldwork { number: 8, place, day, site }
    }

    /// A small atlas with one work of each kind, and everything that is on it.
    fn atlas() -> (Atlas, Vec<(Sheet, Vec<Feature>)>) {
        let section = || Site::Parcels { section: "ZK".to_owned(), count: 7 };
        let works = [
            work("Chêne", section()),
            work("Chêne", section()),
            work("Ourcelles", Site::Street),
            work("Ourcelles", Site::Block),
            work("Crêt-Dessus", Site::Fields),
        ];
        let mut atlas = Atlas::draw(4_000, &works.iter());
        let mut features = vec![
            (Sheet::Parcels, atlas.cadastre().collect()),
            (Sheet::Points, atlas.control(works[0].day).collect()),
            (Sheet::Utilities, atlas.networks().collect()),
        ];
        for (number, work) in works.iter().enumerate() {
            features.extend(atlas.bring_in(work, &format!("A-{number}")));
        }
        (atlas, features)
    }

    #[test]
    fn the_same_works_draw_the_same_atlas() {
        assert_eq!(atlas().1, atlas().1);
    }

    /// What is drawn is what anyone may post, and nothing about it needs to be put right.
    #[test]
    fn every_shape_is_sound() {
        for feature in atlas().1.into_iter().flat_map(|(_, features)| features) {
            let geometry = feature.geometry.unwrap();
            let mut text = Vec::new();
            write_geometry(&geometry, &mut text);
            let mut read = Vec::new();
            geojson::read(text.as_slice(), &Options::default(), |feature| {
                read.push(feature.geometry);
                Ok::<(), ()>(())
            })
            .unwrap();
            assert_eq!(read, [Some(geometry)], "{:?}", feature.external_id);
        }
    }

    #[test]
    fn no_parcel_lies_upon_another() {
        for village in atlas().0.villages {
            let rings: Vec<_> = village.parcels.iter().map(|parcel| &parcel.corners).collect();
            for parcel in &village.parcels {
                assert!(parcel.square_metres() > 150, "{}", parcel.square_metres());
            }
            for (index, ring) in rings.iter().enumerate() {
                // Its corners, drawn a hand's breadth towards its middle.
                let count = ring.len() as f64;
                let (x, y) = ring.iter().fold((0.0, 0.0), |(x, y), c| (x + c.x, y + c.y));
                let (x, y) = (x / count, y / count);
                let inner = ring.iter().map(|c| (c.x + (x - c.x) * 0.01, c.y + (y - c.y) * 0.01));
                for (x, y) in inner.chain([(x, y)]) {
                    let inside = |other: &&Vec<location::Metres>| {
                        let next = other.iter().cycle().skip(1);
                        let crossed = other.iter().zip(next).filter(|(one, next)| {
                            (one.y > y) != (next.y > y)
                                && x < (next.x - one.x) * (y - one.y) / (next.y - one.y) + one.x
                        });
                        crossed.count() % 2 == 1
                    };
                    let found = rings.iter().filter(|other| inside(other)).count();
                    assert_eq!(found, 1, "{} {index}", village.place.name);
                }
            }
        }
    }

    #[test]
    fn works_about_parcels_have_their_own_ones_of_the_section() {
        let (_, features) = atlas();
        let surveyed: Vec<_> =
            features[3..].iter().filter(|(sheet, _)| *sheet == Sheet::Parcels).collect();
        let mut ids = Vec::new();
        for (_, parcels) in surveyed {
            assert_eq!(parcels.len(), 7);
            for parcel in parcels {
                assert_eq!(parcel.properties["commune"], "Chêne");
                assert_eq!(parcel.properties["section"], "ZK");
                assert_eq!(parcel.properties["surveyed_on"], "2026-03-02");
                ids.push(parcel.external_id.clone().unwrap());
            }
        }
        let known = |id: &String| features[0].1.iter().any(|f| f.external_id.as_ref() == Some(id));
        assert!(ids.iter().all(known));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 14);
    }

    #[test]
    fn everything_lies_where_the_office_works() {
        for (sheet, features) in atlas().1 {
            for feature in features {
                let Bbox([west, south, east, north]) = feature.geometry.unwrap().bbox().unwrap();
                assert!(west > 5.0 && east < 7.2 && south > 46.5 && north < 47.8, "{sheet:?}");
            }
        }
    }
}
