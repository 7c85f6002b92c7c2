//! DXF drawings, as text. Layers, blocks and the like are attributes.

mod curve;
mod entities;
mod entity;
mod groups;
mod hatch;
mod left_out;
mod read;
mod write;

pub(super) use read::Drawing;
pub(super) use write::write;
