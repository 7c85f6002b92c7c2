//! The menus that offer exports: what to export, in which format, and in which reference system.

use super::{
    WebError, fields::Choice, form::Pairs, i18n::Localizer, request_context::MemberContext,
};
use crate::cli::RecordFormat;
use groma_domain::{Kind, Layer, layer::LayerCrs};
use groma_files::LayerFormat;
use serde_json::{Value, json};

/// Links that export a list of records, one for each format.
pub(super) struct RecordLinks(pub(super) Vec<(String, &'static str)>);

impl RecordLinks {
    /// Exports at this path, with the parameters of the list.
    pub(super) fn new(path: &str, query: &Pairs) -> Self {
        let link = |format: RecordFormat| {
            let query = query.with(&[("page", ""), ("columns", ""), ("format", format.name())]);
            (format!("{path}{}", query.query()), record_format_label(format))
        };
        Self(RecordFormat::ALL.into_iter().map(link).collect())
    }
}

/// A form that exports records of one of several kinds.
pub(super) struct RecordMenu {
    pub(super) action: String,
    /// The parameters that select the records.
    pub(super) hidden: Vec<(&'static str, String)>,
    pub(super) kinds: Vec<Choice>,
    pub(super) formats: Vec<Choice>,
}

impl RecordMenu {
    pub(super) fn new(t: Localizer, action: String, kinds: &[Kind]) -> Self {
        let kind = |kind: &Kind| Choice::new(kind.plural(), t.kind_title(*kind), false);
        let format =
            |format: RecordFormat| Choice::new(format.name(), record_format_label(format), false);
        Self {
            action,
            hidden: Vec::new(),
            kinds: kinds.iter().map(kind).collect(),
            formats: RecordFormat::ALL.into_iter().map(format).collect(),
        }
    }
}

/// A form that exports features of a layer, or of one of several layers.
pub(super) struct LayerMenu {
    pub(super) action: String,
    /// The layers to choose from, if there are several.
    pub(super) layers: Vec<Choice>,
    pub(super) formats: Vec<Choice>,
    pub(super) systems: Vec<Choice>,
}

impl LayerMenu {
    /// Exports a layer.
    pub(super) async fn of_layer(ctx: &MemberContext, layer: &Layer) -> Result<Self, WebError> {
        let systems = Systems::read(ctx).await?.of_layer(ctx.t(), layer.crs);
        Ok(Self {
            action: layer_path(layer),
            layers: Vec::new(),
            formats: layer_formats(),
            systems,
        })
    }

    /// Exports the features of a folder; `None` if it has none.
    pub(super) async fn of_folder(
        ctx: &MemberContext,
        folder: groma_domain::RecordId,
        action: String,
    ) -> Result<Option<Self>, WebError> {
        let ids = ctx.store().layers_of_folder(ctx.workspace_id(), folder).await?;
        let mut layers = ctx.store().all_layers(ctx.workspace_id()).await?;
        layers.retain(|layer| ids.contains(&layer.id));
        if layers.is_empty() {
            return Ok(None);
        }
        let choice = |layer: &Layer| Choice::new(layer.id.to_string(), layer.name.as_str(), false);
        Ok(Some(Self {
            action,
            layers: layers.iter().map(choice).collect(),
            formats: layer_formats(),
            systems: Systems::read(ctx).await?.of_any_layer(ctx.t()),
        }))
    }
}

/// The path that exports a layer.
pub(super) fn layer_path(layer: &Layer) -> String {
    format!("/map/layers/{}/export", layer.id)
}

/// The formats of layers for the script of the map: names and labels.
pub(super) fn layer_formats_json() -> Value {
    choices_json(&layer_formats())
}

pub(super) fn choices_json(choices: &[Choice]) -> Value {
    choices.iter().map(|choice| json!([choice.value, choice.label])).collect()
}

fn layer_formats() -> Vec<Choice> {
    let choice =
        |format: LayerFormat| Choice::new(format.name(), layer_format_label(format), false);
    LayerFormat::writable().map(choice).collect()
}

/// The reference systems that a layer can be exported in.
pub(super) struct Systems {
    /// WGS 84, and what the workspace offers: names and labels.
    offered: Vec<(LayerCrs, String)>,
}

impl Systems {
    pub(super) async fn read(ctx: &MemberContext) -> Result<Self, WebError> {
        let offered = ctx.store().offered_crs(ctx.workspace_id()).await?;
        let parse = |code: u32| LayerCrs::parse(&format!("EPSG:{code}")).ok();
        let offered = offered.iter().filter_map(parse);
        // A system can be missing, for example without a grid file.
        let named = |crs: LayerCrs| Some((crs, crs.system().ok()?.info().name));
        let all = [LayerCrs::CRS84].into_iter().chain(offered).filter_map(named);
        let label = |(crs, name): (LayerCrs, &str)| match crs.code() {
            Some(code) => (crs, format!("{name} (EPSG:{code})")),
            None => (crs, name.to_owned()),
        };
        Ok(Self { offered: all.map(label).collect() })
    }

    /// The system of the layer, and the others.
    pub(super) fn of_layer(&self, t: Localizer, own: LayerCrs) -> Vec<Choice> {
        let name = own.system().map_or_else(|_| own.to_string(), |crs| crs.info().name.to_owned());
        let mut choices =
            vec![Choice::new("", t.msg("export-crs-own-named").arg("crs", name), true)];
        choices.extend(self.choices(|crs| crs != own));
        choices
    }

    fn of_any_layer(&self, t: Localizer) -> Vec<Choice> {
        let mut choices = vec![Choice::new("", t.msg("export-crs-own"), true)];
        choices.extend(self.choices(|_| true));
        choices
    }

    fn choices(&self, is_wanted: impl Fn(LayerCrs) -> bool) -> impl Iterator<Item = Choice> {
        let wanted = self.offered.iter().filter(move |(crs, _)| is_wanted(*crs));
        wanted.map(|(crs, label)| {
            let code = crs.code().unwrap_or(WGS84_CODE);
            Choice::new(format!("EPSG:{code}"), label.as_str(), false)
        })
    }
}

/// The EPSG code of WGS 84.
const WGS84_CODE: u32 = 4326;

fn record_format_label(format: RecordFormat) -> &'static str {
    match format {
        RecordFormat::Csv => "CSV",
        RecordFormat::Xlsx => "Excel (XLSX)",
        RecordFormat::Json => "JSON",
        RecordFormat::Ndjson => "NDJSON",
    }
}

fn layer_format_label(format: LayerFormat) -> &'static str {
    match format {
        LayerFormat::GeoJson => "GeoJSON",
        LayerFormat::GeoJsonSeq => "GeoJSONSeq",
        LayerFormat::GeoPackage => "GeoPackage",
        LayerFormat::Shapefile => "Shapefile (ZIP)",
        LayerFormat::FlatGeobuf => "FlatGeobuf",
        LayerFormat::Csv => "CSV",
        LayerFormat::Kml => "KML",
        LayerFormat::Gpx => "GPX",
        LayerFormat::Dxf => "DXF",
    }
}
