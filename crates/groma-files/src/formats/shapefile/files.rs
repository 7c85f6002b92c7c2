//! Finds the files that belong to a Shapefile.

use crate::{FileError, archive::Archive, error::Result};
use groma_geo::message;
use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// The longest `.prj` or `.cpg` that is read.
const MAX_TEXT_BYTES: u64 = 64 << 10;

/// The files of one layer.
pub(super) struct ShapeFiles {
    pub(super) name: String,
    pub(super) shp: Stored,
    pub(super) dbf: Option<Stored>,
    pub(super) prj: Option<String>,
    pub(super) cpg: Option<String>,
}

/// A file on disk, or one that was unpacked.
pub(super) enum Stored {
    Path(PathBuf),
    Unpacked(File),
}

impl Stored {
    /// The file. Its position is anywhere.
    pub(super) fn open(&self) -> std::io::Result<File> {
        match self {
            Self::Path(path) => File::open(path),
            Self::Unpacked(file) => file.try_clone(),
        }
    }

    fn text(&self) -> Result<String> {
        let mut bytes = Vec::new();
        self.open()?.take(MAX_TEXT_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Where the files of a name are, by extension.
type Group<T> = BTreeMap<String, T>;

/// Finds the layers of a folder, an archive, or a `.shp` file.
pub(super) fn find(path: &Path) -> Result<Vec<ShapeFiles>> {
    if path.is_dir() {
        return in_folder(path, None);
    }
    let is_zip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    if is_zip || Archive::is_archive(path)? {
        return in_archive(path);
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A pipe was copied to a file without an extension, which is then the `.shp` alone.
    if path.extension().is_none() {
        let shp = Stored::Path(path.to_owned());
        return Ok(vec![ShapeFiles {
            name: "layer".to_owned(),
            shp,
            dbf: None,
            prj: None,
            cpg: None,
        }]);
    }
    in_folder(folder, path.file_stem().and_then(|stem| stem.to_str()))
}

fn in_folder(folder: &Path, only: Option<&str>) -> Result<Vec<ShapeFiles>> {
    let mut groups: BTreeMap<String, Group<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let Some((stem, extension)) = split(&path) else { continue };
        if only.is_none_or(|only| only == stem) {
            groups.entry(stem).or_default().insert(extension, path);
        }
    }
    collect(groups, |path| Ok(Stored::Path(path)))
}

fn in_archive(path: &Path) -> Result<Vec<ShapeFiles>> {
    let mut archive = Archive::open(path)?;
    let names = archive.names()?;
    let mut groups: BTreeMap<String, Group<String>> = BTreeMap::new();
    for name in &names {
        let Some((_, extension)) = split(Path::new(name)) else { continue };
        let stem = name[..name.len() - extension.len() - 1].to_owned();
        groups.entry(stem).or_default().insert(extension, name.clone());
    }
    let found = collect(groups, |name| archive.unpack(&name).map(Stored::Unpacked))?;
    if found.is_empty() {
        let has_archive = names.iter().any(|name| name.to_ascii_lowercase().ends_with(".zip"));
        return Err(FileError::invalid(match has_archive {
            true => message!("the archive contains another archive; unpack it first"),
            false => message!("the archive contains no Shapefile (.shp)"),
        }));
    }
    Ok(found)
}

/// The name without the extension, and the extension in lower case.
fn split(path: &Path) -> Option<(String, String)> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let stem = path.file_stem()?.to_str()?;
    // macOS adds such files to archives.
    (!stem.starts_with("._")).then(|| (stem.to_owned(), extension))
}

fn collect<T>(
    groups: BTreeMap<String, Group<T>>,
    mut store: impl FnMut(T) -> Result<Stored>,
) -> Result<Vec<ShapeFiles>> {
    let mut found = Vec::new();
    for (stem, mut group) in groups {
        let Some(shp) = group.remove("shp") else { continue };
        let mut text = |extension: &str| {
            let stored = group.remove(extension).map(&mut store).transpose()?;
            stored.map(|stored| stored.text()).transpose()
        };
        let (prj, cpg) = (text("prj")?, text("cpg")?);
        let dbf = group.remove("dbf").map(&mut store).transpose()?;
        let name = stem.rsplit('/').next().unwrap_or_default().to_owned();
        found.push(ShapeFiles { name, shp: store(shp)?, dbf, prj, cpg });
    }
    Ok(found)
}
