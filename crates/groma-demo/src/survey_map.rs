//! The office's map: parcels, streets and points of the communes, and the features that each
//! folder's survey adds. The same script always gives the same map.

mod fieldwork;
mod layer_setup;
mod location;
mod village;

pub(super) use fieldwork::{Fieldwork, Site};

use super::{
    calendar::Day,
    office::{COMMUNES, Commune},
    rng::Rng,
};
use fieldwork::{NETWORKS, SurveyFeatures, hundredths};
use groma_domain::layer::LayerKey;
use groma_geo::{Geometry, geojson::Feature};
use serde_json::{Map, Value, json};
use std::{collections::HashMap, ops::Range};
use village::{Parcel, Village};

const SEED: u64 = 47_015;
/// The approximate number of parcels in a section.
const PARCELS_PER_SECTION: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoLayer {
    Parcels,
    Points,
    Utilities,
    /// The layer that the store creates for uploads that name none.
    Submissions,
}

impl DemoLayer {
    /// The name and the key of a layer that the demo creates.
    pub(super) fn name_and_key(self) -> Option<(&'static str, LayerKey)> {
        let slug = |slug: &str| LayerKey::Slug(slug.to_owned());
        match self {
            Self::Parcels => Some(("Parcels", slug("parcels"))),
            Self::Points => Some(("Survey points", slug("survey-points"))),
            Self::Utilities => Some(("Utilities", slug("utilities"))),
            Self::Submissions => None,
        }
    }
}

pub(super) struct SurveyMap {
    villages: Vec<Village>,
    /// How many parcels of a village's section were assigned to folders.
    assigned: HashMap<(usize, String), usize>,
}

impl SurveyMap {
    /// Generates communes with about this many parcels in total and the sections of the surveys.
    pub(super) fn generate<'f>(
        parcel_count: usize,
        surveys: &(impl Iterator<Item = &'f Fieldwork> + Clone),
    ) -> Self {
        let mut rng = Rng::new(SEED);
        let mut by_size: Vec<(i64, usize)> =
            (0..COMMUNES.len()).map(|index| (rng.int(0, 1 << 40), index)).collect();
        by_size.sort_unstable();
        let mut ranks: Vec<(usize, usize)> =
            by_size.iter().enumerate().map(|(rank, (_, index))| (*index, rank)).collect();
        ranks.sort_unstable();
        // A few towns, many villages.
        let size = |rank: usize| (rank as f64 + 1.0).powf(-0.6);
        let total: f64 = (0..COMMUNES.len()).map(size).sum();
        let village = |(index, rank): (usize, usize)| {
            let lots = ((parcel_count as f64 * size(rank) / total) as usize).max(20);
            let commune = COMMUNES[index];
            let sections = sections(commune, lots.div_ceil(PARCELS_PER_SECTION), surveys.clone());
            Village::generate(commune, lots, &sections, rng.fork())
        };
        Self { villages: ranks.into_iter().map(village).collect(), assigned: HashMap::new() }
    }

    /// All parcels.
    pub(super) fn parcels(&self) -> impl Iterator<Item = Feature> {
        self.villages.iter().flat_map(|village| {
            village.parcels.iter().map(|parcel| parcel_feature(village, parcel, None))
        })
    }

    /// The mains under all streets, as the network operators publish them.
    pub(super) fn utilities(&self) -> impl Iterator<Item = Feature> {
        self.villages.iter().enumerate().flat_map(|(index, village)| {
            let mut rng = Rng::new(SEED + 1_000 + index as u64);
            let mut lines = Vec::new();
            for street in &village.streets {
                for network in NETWORKS {
                    if !rng.chance(network.percent) {
                        continue;
                    }
                    let depth = rng.int(network.depth_cm.0, network.depth_cm.1);
                    let properties = json!({
                        "network": network.name,
                        "kind": "main",
                        "material": rng.pick(network.materials),
                        "depth_m": hundredths(depth),
                        "accuracy_class": "C",
                    });
                    let id = format!("{}-N{}", village.slug, lines.len() + 1);
                    lines.push(feature(Some(id), network.main(village, *street), properties));
                }
            }
            lines
        })
    }

    /// The control points from before the office was founded on `day`.
    pub(super) fn control_points(&self, day: Day) -> impl Iterator<Item = Feature> {
        self.villages.iter().enumerate().flat_map(move |(index, village)| {
            let mut rng = Rng::new(SEED + 2_000 + index as u64);
            (1..=10 + village.parcels.len() / 40).map(move |number| {
                let street = rng.pick(&village.streets);
                let mut point = if rng.chance(50) { street.from } else { street.to };
                let offset = rng.float(-60.0, 60.0);
                if street.from.y == street.to.y {
                    point.x += offset;
                } else {
                    point.y += offset;
                }
                let (class, method, accuracy) = match number % 4 {
                    0 => ("benchmark", "levelling", rng.int(1, 3)),
                    _ => ("control", "static GNSS", rng.int(3, 12)),
                };
                let position = village.position_with_height(village.to_ground(point));
                let properties = json!({
                    "class": class,
                    "method": method,
                    "marker": "bolt",
                    "accuracy_mm": accuracy,
                    "height_m": position.z,
                    "measured_on": day.plus(-rng.int(40, 4_000)).text(),
                });
                let id = format!("{}-C{number}", village.slug);
                feature(Some(id), Geometry::Point(position), properties)
            })
        })
    }

    /// The features of a survey by layer; their ids start with `reference`.
    pub(super) fn survey(
        &mut self,
        fieldwork: &Fieldwork,
        reference: &str,
    ) -> Vec<(DemoLayer, Vec<Feature>)> {
        let mut villages = self.villages.iter();
        let index = villages.position(|village| village.commune.name == fieldwork.commune);
        let Some(index) = index else { return Vec::new() };
        let parcels = match &fieldwork.site {
            Site::Parcels { section, count } => self.assign_parcels(index, section, *count),
            _ => 0..0,
        };
        SurveyFeatures::new(&self.villages[index], fieldwork, reference).generate(parcels)
    }

    /// Adjacent parcels of a section that no other folder has, if enough are left.
    fn assign_parcels(&mut self, village: usize, section: &str, count: usize) -> Range<usize> {
        let parcels = &self.villages[village].parcels;
        let first = parcels.iter().position(|parcel| parcel.section == section).unwrap_or_default();
        let length = parcels.iter().filter(|parcel| parcel.section == section).count();
        let assigned = self.assigned.entry((village, section.to_owned())).or_default();
        if *assigned + count > length {
            *assigned = 0;
        }
        let start = first + *assigned;
        *assigned += count;
        start..start + count.min(length)
    }
}

/// The sections of a commune: those of the surveys, and others until there are `min_count`.
fn sections<'f>(
    commune: Commune,
    min_count: usize,
    surveys: impl Iterator<Item = &'f Fieldwork>,
) -> Vec<String> {
    let mut sections: Vec<String> = Vec::new();
    for fieldwork in surveys.filter(|fieldwork| fieldwork.commune == commune.name) {
        if let Site::Parcels { section, .. } = &fieldwork.site
            && !sections.contains(section)
        {
            sections.push(section.clone());
        }
    }
    let more = ('A'..='C').flat_map(|a| ('A'..='Z').map(move |b| format!("{a}{b}")));
    for section in more {
        if sections.len() >= min_count.max(1) {
            break;
        }
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    sections
}

fn parcel_feature(village: &Village, parcel: &Parcel, surveyed: Option<Day>) -> Feature {
    let id = format!("{}-{}-{:04}", village.slug, parcel.section, parcel.number);
    let properties = json!({
        "commune": village.commune.name,
        "section": parcel.section,
        "number": parcel.number,
        "area_m2": parcel.area_m2(),
        "land_use": parcel.land_use,
        "surveyed_on": surveyed.map(Day::text),
    });
    feature(Some(id), village.polygon(&parcel.corners), properties)
}

/// A feature with the properties that are not null.
fn feature(external_id: Option<String>, geometry: Geometry, properties: Value) -> Feature {
    let mut properties = match properties {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    properties.retain(|_, value| !value.is_null());
    Feature::new(external_id, Some(geometry), properties)
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_geo::{
        Bbox,
        geojson::{self, Options, write_geometry},
    };
    use location::LocalPoint;

    fn fieldwork(commune: &'static str, site: Site) -> Fieldwork {
        let day = Day::of(groma_domain::Timestamp::parse("2026-03-02T12:00:00Z").unwrap());
        Fieldwork { folder_number: 8, commune, day, site }
    }

    /// A small map with one survey of each kind, and all its features.
    fn survey_map() -> (SurveyMap, Vec<(DemoLayer, Vec<Feature>)>) {
        let section = || Site::Parcels { section: "ZK".to_owned(), count: 7 };
        let surveys = [
            fieldwork("Chêne", section()),
            fieldwork("Chêne", section()),
            fieldwork("Ourcelles", Site::Street),
            fieldwork("Ourcelles", Site::Village),
            fieldwork("Crêt-Dessus", Site::Fields),
        ];
        let mut map = SurveyMap::generate(4_000, &surveys.iter());
        let mut features = vec![
            (DemoLayer::Parcels, map.parcels().collect()),
            (DemoLayer::Points, map.control_points(surveys[0].day).collect()),
            (DemoLayer::Utilities, map.utilities().collect()),
        ];
        for (number, fieldwork) in surveys.iter().enumerate() {
            features.extend(map.survey(fieldwork, &format!("A-{number}")));
        }
        (map, features)
    }

    #[test]
    fn same_surveys_give_the_same_map() {
        assert_eq!(survey_map().1, survey_map().1);
    }

    #[test]
    fn every_geometry_is_valid_geojson_that_needs_no_repair() {
        for feature in survey_map().1.into_iter().flat_map(|(_, features)| features) {
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
    fn parcels_do_not_overlap() {
        for village in survey_map().0.villages {
            let rings: Vec<_> = village.parcels.iter().map(|parcel| &parcel.corners).collect();
            for parcel in &village.parcels {
                assert!(parcel.area_m2() > 150, "{}", parcel.area_m2());
            }
            for (index, ring) in rings.iter().enumerate() {
                let count = ring.len() as f64;
                let (x, y) = ring.iter().fold((0.0, 0.0), |(x, y), c| (x + c.x, y + c.y));
                let (x, y) = (x / count, y / count);
                // The corners, moved slightly towards the centre.
                let inner = ring.iter().map(|c| (c.x + (x - c.x) * 0.01, c.y + (y - c.y) * 0.01));
                for (x, y) in inner.chain([(x, y)]) {
                    let containing = rings.iter().filter(|ring| contains(ring, x, y)).count();
                    assert_eq!(containing, 1, "{} {index}", village.commune.name);
                }
            }
        }
    }

    fn contains(ring: &[LocalPoint], x: f64, y: f64) -> bool {
        let next = ring.iter().cycle().skip(1);
        let crossings = ring.iter().zip(next).filter(|(one, next)| {
            (one.y > y) != (next.y > y)
                && x < (next.x - one.x) * (y - one.y) / (next.y - one.y) + one.x
        });
        crossings.count() % 2 == 1
    }

    #[test]
    fn each_cadastral_survey_gets_its_own_parcels_of_the_section() {
        let (_, features) = survey_map();
        let surveyed: Vec<_> =
            features[3..].iter().filter(|(layer, _)| *layer == DemoLayer::Parcels).collect();
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
        let exists = |id: &String| features[0].1.iter().any(|f| f.external_id.as_ref() == Some(id));
        assert!(ids.iter().all(exists));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 14);
    }

    #[test]
    fn all_features_are_in_the_region_of_the_office() {
        for (layer, features) in survey_map().1 {
            for feature in features {
                let Bbox([west, south, east, north]) = feature.geometry.unwrap().bbox().unwrap();
                assert!(west > 5.0 && east < 7.2 && south > 46.5 && north < 47.8, "{layer:?}");
            }
        }
    }
}
