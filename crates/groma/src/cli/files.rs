//! What `groma import` and `groma export` take. Records and layers share the two commands but not
//! all of their flags: here they are told apart, and a flag that does not go with the kind is wrong
//! usage.

use super::At;
use clap::{
    ArgMatches, Args, Command, Error, FromArgMatches, ValueEnum, builder::PossibleValue,
    error::ErrorKind,
};
use groma_domain::Kind;
use groma_geo::Crs;
use std::path::PathBuf;

/// `groma import`.
#[derive(Debug)]
pub(crate) enum ImportCommand {
    /// Records or statuses.
    Records(Import),
    /// Features into a layer.
    Layer(ImportLayer),
}

/// Records to be imported.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) kind: FileKind,
    pub(crate) file: PathBuf,
    pub(crate) at: At,
    pub(crate) format: Option<Format>,
    pub(crate) dry_run: bool,
    pub(crate) keep_good: bool,
    pub(crate) json: bool,
}

/// Features to be imported.
#[derive(Debug)]
pub(crate) struct ImportLayer {
    pub(crate) file: PathBuf,
    pub(crate) at: At,
    pub(crate) format: Option<LayerFormat>,
    /// An id, a slug or a name; `None` for the name of the file.
    pub(crate) layer: Option<String>,
    pub(crate) crs: Crs,
    pub(crate) folder: Option<String>,
    pub(crate) assignment: Option<String>,
    pub(crate) dry_run: bool,
    pub(crate) keep_good: bool,
    pub(crate) json: bool,
}

/// `groma export`.
#[derive(Debug)]
pub(crate) enum ExportCommand {
    /// Records or statuses.
    Records(Export),
    /// The features of a layer.
    Layer(ExportLayer),
}

/// Records to be exported.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) kind: FileKind,
    pub(crate) file: PathBuf,
    pub(crate) at: At,
    pub(crate) format: Option<Format>,
}

/// Features to be exported.
#[derive(Debug)]
pub(crate) struct ExportLayer {
    pub(crate) file: PathBuf,
    pub(crate) at: At,
    pub(crate) format: Option<LayerFormat>,
    /// An id or a slug.
    pub(crate) layer: String,
}

/// What a file of records can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    Folders,
    Assignments,
    Expenses,
    Budgets,
    Statuses,
}

impl FileKind {
    /// The kind of record; `None` for statuses.
    pub(crate) fn record(self) -> Option<Kind> {
        match self {
            Self::Folders => Some(Kind::Folder),
            Self::Assignments => Some(Kind::Assignment),
            Self::Expenses => Some(Kind::Expense),
            Self::Budgets => Some(Kind::Budget),
            Self::Statuses => None,
        }
    }
}

/// The format of a file of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    Json,
    Ndjson,
}

/// The format of a file of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LayerFormat {
    /// One object, as a rule a FeatureCollection.
    GeoJson,
    /// One object a line, or each behind a record separator.
    GeoJsonSeq,
}

// The flags as they are written

#[derive(Args)]
struct ImportFlags {
    /// What the file holds.
    kind: AnyKind,
    /// The file (`-` for standard input); its ending tells the format.
    file: PathBuf,
    #[command(flatten)]
    at: At,
    /// The format, when the ending does not tell.
    #[arg(long)]
    format: Option<AnyFormat>,
    /// Layer, by id, slug or name; made when there is none of that name. Left out, it is named
    /// after the file.
    #[arg(long, value_name = "KEY")]
    layer: Option<String>,
    /// Reference system of a layer's coordinates, when it is not WGS 84: EPSG:2154, …
    #[arg(long, value_parser = Crs::parse)]
    crs: Option<Crs>,
    /// Folder that a layer's features belong to, by id or reference.
    #[arg(long, value_name = "KEY")]
    folder: Option<String>,
    /// Assignment that a layer's features belong to, by id or reference.
    #[arg(long, value_name = "KEY")]
    assignment: Option<String>,
    /// Check only.
    #[arg(long)]
    dry_run: bool,
    /// Keep what is good when something is rejected.
    #[arg(long)]
    keep_good: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ExportFlags {
    /// What to export.
    kind: AnyKind,
    /// The file (`-` for standard output); its ending tells the format.
    file: PathBuf,
    #[command(flatten)]
    at: At,
    /// The format, when the ending does not tell.
    #[arg(long)]
    format: Option<AnyFormat>,
    /// Layer to export, by id or slug.
    #[arg(long, value_name = "KEY")]
    layer: Option<String>,
}

impl ImportFlags {
    fn told_apart(self) -> Result<ImportCommand, Error> {
        let Self { file, at, format, layer, crs, folder, assignment, .. } = self;
        let (dry_run, keep_good, json) = (self.dry_run, self.keep_good, self.json);
        let AnyKind::Records(kind) = self.kind else {
            if layer.is_none() && file.as_os_str() == "-" {
                return Err(wrong(ErrorKind::MissingRequiredArgument, "`-` needs --layer"));
            }
            let (format, crs) = (of_layer(format)?, crs.unwrap_or(Crs::WGS84));
            return Ok(ImportCommand::Layer(ImportLayer {
                file,
                at,
                format,
                layer,
                crs,
                folder,
                assignment,
                dry_run,
                keep_good,
                json,
            }));
        };
        for (name, is_given) in [
            ("--layer", layer.is_some()),
            ("--crs", crs.is_some()),
            ("--folder", folder.is_some()),
            ("--assignment", assignment.is_some()),
        ] {
            if is_given {
                return Err(for_layers_only(name));
            }
        }
        let format = of_records(format)?;
        Ok(ImportCommand::Records(Import { kind, file, at, format, dry_run, keep_good, json }))
    }
}

impl ExportFlags {
    fn told_apart(self) -> Result<ExportCommand, Error> {
        let Self { kind, file, at, format, layer } = self;
        match (kind, layer) {
            (AnyKind::Records(kind), None) => {
                let format = of_records(format)?;
                Ok(ExportCommand::Records(Export { kind, file, at, format }))
            }
            (AnyKind::Records(_), Some(_)) => Err(for_layers_only("--layer")),
            (AnyKind::Layer, Some(layer)) => {
                let format = of_layer(format)?;
                Ok(ExportCommand::Layer(ExportLayer { file, at, format, layer }))
            }
            (AnyKind::Layer, None) => {
                Err(wrong(ErrorKind::MissingRequiredArgument, "--layer is needed: which layer?"))
            }
        }
    }
}

fn for_layers_only(flag: &str) -> Error {
    wrong(ErrorKind::ArgumentConflict, &format!("{flag} goes with the kind `layer` only"))
}

fn wrong(kind: ErrorKind, message: &str) -> Error {
    Error::raw(kind, format!("{message}\n"))
}

#[derive(Clone, Copy)]
enum AnyKind {
    Records(FileKind),
    Layer,
}

impl ValueEnum for AnyKind {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Records(FileKind::Folders),
            Self::Records(FileKind::Assignments),
            Self::Records(FileKind::Expenses),
            Self::Records(FileKind::Budgets),
            Self::Records(FileKind::Statuses),
            Self::Layer,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Records(kind) => kind.to_possible_value(),
            Self::Layer => Some(PossibleValue::new("layer")),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum AnyFormat {
    Csv,
    Json,
    Ndjson,
    /// Layers.
    Geojson,
    /// Layers: one object a line.
    #[value(alias = "geojsonl", alias = "geojsons")]
    Geojsonseq,
}

fn of_records(format: Option<AnyFormat>) -> Result<Option<Format>, Error> {
    match format {
        None => Ok(None),
        Some(AnyFormat::Csv) => Ok(Some(Format::Csv)),
        Some(AnyFormat::Json) => Ok(Some(Format::Json)),
        Some(AnyFormat::Ndjson) => Ok(Some(Format::Ndjson)),
        Some(AnyFormat::Geojson | AnyFormat::Geojsonseq) => {
            Err(wrong(ErrorKind::InvalidValue, "records have the formats csv, json and ndjson"))
        }
    }
}

fn of_layer(format: Option<AnyFormat>) -> Result<Option<LayerFormat>, Error> {
    match format {
        None => Ok(None),
        Some(AnyFormat::Json | AnyFormat::Geojson) => Ok(Some(LayerFormat::GeoJson)),
        Some(AnyFormat::Ndjson | AnyFormat::Geojsonseq) => Ok(Some(LayerFormat::GeoJsonSeq)),
        Some(AnyFormat::Csv) => {
            Err(wrong(ErrorKind::InvalidValue, "layers have the formats geojson and geojsonseq"))
        }
    }
}

/// Lets clap read the flags of one type as the other that they are told apart into.
macro_rules! read_as {
    ($($flags:ident => $command:ident)*) => {$(
        impl FromArgMatches for $command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                $flags::from_arg_matches(matches)?.told_apart()
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }

        impl Args for $command {
            fn augment_args(command: Command) -> Command {
                $flags::augment_args(command)
            }

            fn augment_args_for_update(command: Command) -> Command {
                $flags::augment_args_for_update(command)
            }
        }
    )*};
}

read_as! {
    ImportFlags => ImportCommand
    ExportFlags => ExportCommand
}
