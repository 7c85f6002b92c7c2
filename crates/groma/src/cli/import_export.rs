//! The arguments of `groma import` and `groma export`. Records and layers share the two commands but
//! not all flags: a flag that does not apply to the kind is a usage error.

use super::WorkspaceArg;
use clap::{
    ArgMatches, Args, Command, Error, FromArgMatches, ValueEnum, builder::PossibleValue,
    error::ErrorKind,
};
use groma_domain::Kind;
use groma_files::{GeometryColumns, LayerFormat};
use groma_geo::Crs;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) enum ImportCommand {
    Records(ImportRecords),
    Layer(ImportLayer),
}

#[derive(Debug)]
pub(crate) struct ImportRecords {
    pub(crate) kind: RecordFileKind,
    pub(crate) file: PathBuf,
    pub(crate) workspace: WorkspaceArg,
    pub(crate) format: Option<RecordFormat>,
    /// The sheet of a workbook; `None` for the first one.
    pub(crate) sheet: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) keep_good: bool,
    pub(crate) json: bool,
}

#[derive(Debug)]
pub(crate) struct ImportLayer {
    pub(crate) file: PathBuf,
    pub(crate) workspace: WorkspaceArg,
    pub(crate) format: Option<LayerFormat>,
    /// ID, slug or name; `None` for the name of the file.
    pub(crate) layer: Option<String>,
    /// `None` for the one that the file names.
    pub(crate) crs: Option<Crs>,
    pub(crate) keep_crs: bool,
    /// The layer of the file, if it has several.
    pub(crate) source_layer: Option<String>,
    /// The columns of a CSV file that have the geometry; `None` for those that are recognized.
    pub(crate) geometry: Option<GeometryColumns>,
    /// The field that identifies a feature; `None` for its id.
    pub(crate) id_field: Option<String>,
    pub(crate) mode: ImportMode,
    pub(crate) folder: Option<String>,
    pub(crate) assignment: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) keep_good: bool,
    pub(crate) json: bool,
}

#[derive(Debug)]
pub(crate) enum ExportCommand {
    Records(ExportRecords),
    Layer(ExportLayer),
    Workspace(ExportWorkspace),
}

#[derive(Debug)]
pub(crate) struct ExportWorkspace {
    pub(crate) file: PathBuf,
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug)]
pub(crate) struct ExportRecords {
    pub(crate) kind: RecordFileKind,
    pub(crate) file: PathBuf,
    pub(crate) workspace: WorkspaceArg,
    pub(crate) format: Option<RecordFormat>,
}

#[derive(Debug)]
pub(crate) struct ExportLayer {
    pub(crate) file: PathBuf,
    pub(crate) workspace: WorkspaceArg,
    pub(crate) format: Option<LayerFormat>,
    /// ID or slug.
    pub(crate) layer: String,
    /// `None` for that of the layer.
    pub(crate) crs: Option<Crs>,
}

/// The content of a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFileKind {
    Folders,
    Assignments,
    Expenses,
    Budgets,
    Statuses,
}

impl RecordFileKind {
    /// The kind of record; `None` for statuses.
    pub(crate) fn record_kind(self) -> Option<Kind> {
        match self {
            Self::Folders => Some(Kind::Folder),
            Self::Assignments => Some(Kind::Assignment),
            Self::Expenses => Some(Kind::Expense),
            Self::Budgets => Some(Kind::Budget),
            Self::Statuses => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    Csv,
    Json,
    Ndjson,
    Xlsx,
}

impl RecordFormat {
    /// Every format, in the order of menus.
    pub(crate) const ALL: [Self; 4] = [Self::Csv, Self::Xlsx, Self::Json, Self::Ndjson];

    /// The format of this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that the extension of a path stands for.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Self::of_name(match extension.as_str() {
            "jsonl" => "ndjson",
            "tsv" => "csv",
            name => name,
        })
    }

    /// Its name, which is also the extension of its files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
        }
    }
}

/// What an import does to the features that a layer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub(crate) enum ImportMode {
    /// Update the features that are in the file, and add new ones.
    #[default]
    AddAndUpdate,
    /// The same, and delete the features that are not in the file.
    Replace,
    /// Add new features, and leave the others as they are.
    AddOnly,
}

/// The arguments as clap parses them, before the kind is known.
#[derive(Args)]
struct ImportArgs {
    /// What to import.
    kind: AnyKind,
    /// The file, or `-` for standard input. Its extension determines the format. A Shapefile can be a folder or a
    /// zip archive.
    file: PathBuf,
    #[command(flatten)]
    workspace: WorkspaceArg,
    /// The format, if the extension does not determine it.
    #[arg(long)]
    format: Option<AnyFormat>,
    /// ID, slug or name of the layer. Created if no layer has this name. Default: the file name.
    #[arg(long, value_name = "KEY")]
    layer: Option<String>,
    /// Layer of the file, if it has several.
    #[arg(long, value_name = "NAME")]
    source_layer: Option<String>,
    /// Sheet of an Excel workbook with records. Default: the first one.
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
    /// Column of a CSV file with x, or the longitude. Default: recognized by its name.
    #[arg(long, value_name = "NAME", requires = "y_column")]
    x_column: Option<String>,
    /// Column of a CSV file with y, or the latitude.
    #[arg(long, value_name = "NAME", requires = "x_column")]
    y_column: Option<String>,
    /// Column of a CSV file with geometries as WKT or WKB.
    #[arg(long, value_name = "NAME", conflicts_with = "x_column")]
    wkt_column: Option<String>,
    /// Field of the file whose value identifies a feature. Default: the feature's id.
    #[arg(long, value_name = "FIELD")]
    id_field: Option<String>,
    /// What to do with the features that the layer has. Default: add-and-update.
    #[arg(long)]
    mode: Option<ImportMode>,
    /// Coordinate reference system of a layer, for example EPSG:2154. Default: the one that the file names.
    #[arg(long, value_parser = Crs::parse)]
    crs: Option<Crs>,
    /// Give a new layer the reference system of the file, and keep its coordinates exactly.
    #[arg(long)]
    keep_crs: bool,
    /// ID or reference of the folder that a layer's features belong to.
    #[arg(long, value_name = "KEY")]
    folder: Option<String>,
    /// ID or reference of the assignment that a layer's features belong to.
    #[arg(long, value_name = "KEY")]
    assignment: Option<String>,
    /// Check the file without importing it.
    #[arg(long)]
    dry_run: bool,
    /// Import valid rows or features even if others are rejected.
    #[arg(long)]
    keep_good: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportArgs {
    /// What to export.
    kind: ExportKind,
    /// The file, or `-` for standard output. Its extension determines the format.
    file: PathBuf,
    #[command(flatten)]
    workspace: WorkspaceArg,
    /// The format, if the extension does not determine it.
    #[arg(long)]
    format: Option<AnyFormat>,
    /// ID or slug of the layer to export.
    #[arg(long, value_name = "KEY")]
    layer: Option<String>,
    /// Coordinate reference system of the file, for example EPSG:2154. Default: that of the layer.
    #[arg(long, value_parser = Crs::parse)]
    crs: Option<Crs>,
}

impl ImportArgs {
    fn into_command(self) -> Result<ImportCommand, Error> {
        let Self { file, workspace, format, layer, crs, keep_crs, folder, assignment, .. } = self;
        let (source_layer, id_field, mode) = (self.source_layer, self.id_field, self.mode);
        let (dry_run, keep_good, json) = (self.dry_run, self.keep_good, self.json);
        let (x_column, y_column) = (self.x_column, self.y_column);
        let geometry = match (self.wkt_column, x_column, y_column) {
            (Some(text), ..) => Some(GeometryColumns::Text(text)),
            (None, Some(x), Some(y)) => Some(GeometryColumns::Position { x, y }),
            (None, ..) => None,
        };
        let AnyKind::Records(kind) = self.kind else {
            if self.sheet.is_some() {
                let message = "--sheet can only be used with records.";
                return Err(usage_error(ErrorKind::ArgumentConflict, message));
            }
            if layer.is_none() && file.as_os_str() == "-" {
                let message = "Standard input has no file name: name the layer with --layer.";
                return Err(usage_error(ErrorKind::MissingRequiredArgument, message));
            }
            let format = layer_format(format)?;
            let mode = mode.unwrap_or_default();
            if mode == ImportMode::Replace && keep_good {
                let message = "--keep-good cannot be used with --mode replace, which would delete the stored \
                               features of rejected ones.";
                return Err(usage_error(ErrorKind::ArgumentConflict, message));
            }
            return Ok(ImportCommand::Layer(ImportLayer {
                file,
                workspace,
                format,
                layer,
                crs,
                keep_crs,
                source_layer,
                geometry,
                id_field,
                mode,
                folder,
                assignment,
                dry_run,
                keep_good,
                json,
            }));
        };
        for (name, is_given) in [
            ("--layer", layer.is_some()),
            ("--source-layer", source_layer.is_some()),
            ("--x-column", matches!(geometry, Some(GeometryColumns::Position { .. }))),
            ("--wkt-column", matches!(geometry, Some(GeometryColumns::Text(_)))),
            ("--id-field", id_field.is_some()),
            ("--mode", mode.is_some()),
            ("--crs", crs.is_some()),
            ("--keep-crs", keep_crs),
            ("--folder", folder.is_some()),
            ("--assignment", assignment.is_some()),
        ] {
            if is_given {
                return Err(layers_only(name));
            }
        }
        let format = record_format(format)?;
        Ok(ImportCommand::Records(ImportRecords {
            kind,
            file,
            workspace,
            format,
            sheet: self.sheet,
            dry_run,
            keep_good,
            json,
        }))
    }
}

impl ExportArgs {
    fn into_command(self) -> Result<ExportCommand, Error> {
        let Self { kind, file, workspace, format, layer, crs } = self;
        let is_layer = matches!(kind, ExportKind::Any(AnyKind::Layer));
        match (kind, layer) {
            _ if crs.is_some() && !is_layer => Err(layers_only("--crs")),
            (ExportKind::Workspace, None) => match format {
                None | Some(AnyFormat::Gpkg) => {
                    Ok(ExportCommand::Workspace(ExportWorkspace { file, workspace }))
                }
                Some(_) => Err(usage_error(
                    ErrorKind::InvalidValue,
                    "The format of a workspace must be gpkg.",
                )),
            },
            (ExportKind::Any(AnyKind::Records(kind)), None) => {
                let format = record_format(format)?;
                Ok(ExportCommand::Records(ExportRecords { kind, file, workspace, format }))
            }
            (ExportKind::Any(AnyKind::Records(_)) | ExportKind::Workspace, Some(_)) => {
                Err(layers_only("--layer"))
            }
            (ExportKind::Any(AnyKind::Layer), Some(layer)) => {
                let format = layer_format(format)?;
                Ok(ExportCommand::Layer(ExportLayer { file, workspace, format, layer, crs }))
            }
            (ExportKind::Any(AnyKind::Layer), None) => Err(usage_error(
                ErrorKind::MissingRequiredArgument,
                "Name the layer to export with --layer.",
            )),
        }
    }
}

fn layers_only(flag: &str) -> Error {
    let message = format!("{flag} can only be used with the kind `layer`.");
    usage_error(ErrorKind::ArgumentConflict, &message)
}

fn usage_error(kind: ErrorKind, message: &str) -> Error {
    Error::raw(kind, format!("{message}\n"))
}

#[derive(Clone, Copy)]
enum AnyKind {
    Records(RecordFileKind),
    Layer,
}

impl AnyKind {
    const ALL: [Self; 6] = [
        Self::Records(RecordFileKind::Folders),
        Self::Records(RecordFileKind::Assignments),
        Self::Records(RecordFileKind::Expenses),
        Self::Records(RecordFileKind::Budgets),
        Self::Records(RecordFileKind::Statuses),
        Self::Layer,
    ];
}

impl ValueEnum for AnyKind {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Records(kind) => kind.to_possible_value(),
            Self::Layer => Some(PossibleValue::new("layer")),
        }
    }
}

#[derive(Clone, Copy)]
enum ExportKind {
    Any(AnyKind),
    Workspace,
}

impl ExportKind {
    const ALL: [Self; AnyKind::ALL.len() + 1] = {
        let mut all = [Self::Workspace; AnyKind::ALL.len() + 1];
        let mut n = 0;
        while n < AnyKind::ALL.len() {
            all[n] = Self::Any(AnyKind::ALL[n]);
            n += 1;
        }
        all
    };
}

impl ValueEnum for ExportKind {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Any(kind) => kind.to_possible_value(),
            Self::Workspace => {
                Some(PossibleValue::new("workspace").help("All of it, as a GeoPackage"))
            }
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum AnyFormat {
    Csv,
    Json,
    Ndjson,
    /// Records only.
    Xlsx,
    /// Layers only.
    Geojson,
    /// Layers only: one object per line.
    #[value(alias = "geojsonl", alias = "geojsons")]
    Geojsonseq,
    /// Layers only: GeoPackage.
    #[value(alias = "geopackage")]
    Gpkg,
    /// Layers only.
    #[value(alias = "shp")]
    Shapefile,
    /// Layers only.
    #[value(alias = "fgb")]
    Flatgeobuf,
    /// Layers only: KML or KMZ.
    #[value(alias = "kmz")]
    Kml,
    /// Layers only; cannot be exported.
    Gpx,
    /// Layers only.
    Dxf,
}

fn record_format(format: Option<AnyFormat>) -> Result<Option<RecordFormat>, Error> {
    match format {
        None => Ok(None),
        Some(AnyFormat::Csv) => Ok(Some(RecordFormat::Csv)),
        Some(AnyFormat::Json) => Ok(Some(RecordFormat::Json)),
        Some(AnyFormat::Ndjson) => Ok(Some(RecordFormat::Ndjson)),
        Some(AnyFormat::Xlsx) => Ok(Some(RecordFormat::Xlsx)),
        Some(_) => Err(usage_error(
            ErrorKind::InvalidValue,
            "The format of records must be csv, xlsx, json or ndjson.",
        )),
    }
}

fn layer_format(format: Option<AnyFormat>) -> Result<Option<LayerFormat>, Error> {
    Ok(Some(match format {
        None => return Ok(None),
        Some(AnyFormat::Json | AnyFormat::Geojson) => LayerFormat::GeoJson,
        Some(AnyFormat::Ndjson | AnyFormat::Geojsonseq) => LayerFormat::GeoJsonSeq,
        Some(AnyFormat::Gpkg) => LayerFormat::GeoPackage,
        Some(AnyFormat::Shapefile) => LayerFormat::Shapefile,
        Some(AnyFormat::Flatgeobuf) => LayerFormat::FlatGeobuf,
        Some(AnyFormat::Csv) => LayerFormat::Csv,
        Some(AnyFormat::Kml) => LayerFormat::Kml,
        Some(AnyFormat::Gpx) => LayerFormat::Gpx,
        Some(AnyFormat::Dxf) => LayerFormat::Dxf,
        Some(AnyFormat::Xlsx) => {
            let names = LayerFormat::names(false);
            let message = format!("The format of a layer must be one of {names}.");
            return Err(usage_error(ErrorKind::InvalidValue, &message));
        }
    }))
}

/// Lets clap parse a command through its arguments.
macro_rules! parse_through {
    ($($args:ident => $command:ident)*) => {$(
        impl FromArgMatches for $command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                $args::from_arg_matches(matches)?.into_command()
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl Args for $command {
            fn augment_args(command: Command) -> Command {
                $args::augment_args(command)
            }

            fn augment_args_for_update(command: Command) -> Command {
                $args::augment_args_for_update(command)
            }
        }
    )*};
}

parse_through! {
    ImportArgs => ImportCommand
    ExportArgs => ExportCommand
}
