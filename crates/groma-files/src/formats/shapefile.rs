//! ESRI Shapefiles: `.shp` with the shapes, `.dbf` with the attributes, `.prj` with the reference system and
//! `.cpg` with the encoding, in a folder or in a zip archive.

mod box_tree;
mod code_page;
mod dbf;
mod files;
mod read;
mod rings;
mod shp;
mod write;

pub(super) use read::Shapefile;
pub(super) use write::write;
