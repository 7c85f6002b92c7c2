//! Public map services, to fill in the form of a new base map. Their terms of use are between the service
//! and the office that adds it.

use super::{BaseMapInput, BaseMapKind};

/// A public map service.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name in URLs and messages.
    pub id: &'static str,
    /// What the URL refers to.
    pub kind: BaseMapKind,
    url: &'static str,
    attribution: &'static str,
    attribution_url: &'static str,
    /// Lowest and highest zoom.
    zooms: (u8, u8),
}

/// All presets in the order of the page.
pub const PRESETS: [Preset; 8] = [
    Preset {
        id: "openstreetmap",
        kind: BaseMapKind::Xyz,
        url: "https://tile.openstreetmap.org/{z}/{x}/{y}.png",
        attribution: "© OpenStreetMap contributors",
        attribution_url: "https://www.openstreetmap.org/copyright",
        zooms: (0, 19),
    },
    Preset {
        id: "ign-plan",
        kind: BaseMapKind::Wmts,
        url: "https://data.geopf.fr/wmts?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile\
            &LAYER=GEOGRAPHICALGRIDSYSTEMS.PLANIGNV2&STYLE=normal&TILEMATRIXSET=PM&FORMAT=image/png\
            &TILEMATRIX={TileMatrix}&TILEROW={TileRow}&TILECOL={TileCol}",
        attribution: "© IGN",
        attribution_url: "https://geoservices.ign.fr/",
        zooms: (0, 19),
    },
    Preset {
        id: "ign-aerial",
        kind: BaseMapKind::Wmts,
        url: "https://data.geopf.fr/wmts?SERVICE=WMTS&VERSION=1.0.0&REQUEST=GetTile\
            &LAYER=ORTHOIMAGERY.ORTHOPHOTOS&STYLE=normal&TILEMATRIXSET=PM&FORMAT=image/jpeg\
            &TILEMATRIX={TileMatrix}&TILEROW={TileRow}&TILECOL={TileCol}",
        attribution: "© IGN",
        attribution_url: "https://geoservices.ign.fr/",
        zooms: (0, 19),
    },
    Preset {
        id: "swisstopo-map",
        kind: BaseMapKind::Wmts,
        url: "https://wmts.geo.admin.ch/1.0.0/ch.swisstopo.pixelkarte-farbe/default/current/3857/\
            {TileMatrix}/{TileCol}/{TileRow}.jpeg",
        attribution: "© swisstopo",
        attribution_url: "https://www.swisstopo.admin.ch/",
        zooms: (2, 18),
    },
    Preset {
        id: "swisstopo-aerial",
        kind: BaseMapKind::Wmts,
        url: "https://wmts.geo.admin.ch/1.0.0/ch.swisstopo.swissimage/default/current/3857/\
            {TileMatrix}/{TileCol}/{TileRow}.jpeg",
        attribution: "© swisstopo",
        attribution_url: "https://www.swisstopo.admin.ch/",
        zooms: (2, 19),
    },
    Preset {
        id: "pdok-map",
        kind: BaseMapKind::Wmts,
        url: "https://service.pdok.nl/brt/achtergrondkaart/wmts/v2_0/standaard/EPSG:3857/\
            {TileMatrix}/{TileCol}/{TileRow}.png",
        attribution: "© Kadaster",
        attribution_url: "https://www.pdok.nl/",
        zooms: (6, 19),
    },
    Preset {
        id: "pdok-aerial",
        kind: BaseMapKind::Wmts,
        url: "https://service.pdok.nl/hwh/luchtfotorgb/wmts/v1_0/Actueel_orthoHR/EPSG:3857/\
            {TileMatrix}/{TileCol}/{TileRow}.jpeg",
        attribution: "© Beeldmateriaal.nl",
        attribution_url: "https://www.beeldmateriaal.nl/",
        zooms: (6, 19),
    },
    Preset {
        id: "ordnance-survey",
        kind: BaseMapKind::Xyz,
        url: "https://api.os.uk/maps/raster/v1/zxy/Road_3857/{z}/{x}/{y}.png?key={key}",
        attribution: "Contains OS data © Crown copyright and database rights",
        attribution_url: "https://www.ordnancesurvey.co.uk/",
        zooms: (7, 16),
    },
];

impl Preset {
    /// A preset by its name.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.id == id)
    }

    /// The values of a new base map; the name and the key are the user's.
    #[must_use]
    pub fn input(&self) -> BaseMapInput {
        BaseMapInput {
            kind: self.kind.name().to_owned(),
            url: self.url.to_owned(),
            attribution: self.attribution.to_owned(),
            attribution_url: self.attribution_url.to_owned(),
            min_zoom: self.zooms.0.to_string(),
            max_zoom: self.zooms.1.to_string(),
            ..BaseMapInput::default()
        }
    }
}
