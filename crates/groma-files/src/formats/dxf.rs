//! DXF drawings, as text. Layers, blocks and the like are attributes.

mod entity;
mod groups;
mod read;
mod write;

pub(super) use read::Drawing;
pub(super) use write::write;
