//! Applies the changes of features to the tile index.

use super::{
    LayerWrite,
    tile_index::{IndexedShape, TileIndex},
};
use groma_geo::tile_shape::TileShape;

/// A feature that enters or leaves the tile index.
pub(super) struct IndexChange {
    pub(super) position: u64,
    /// Whether the feature existed before.
    pub(super) is_known: bool,
    pub(super) old: Option<IndexedShape>,
    pub(super) new: Option<NewShape>,
}

impl IndexChange {
    /// The shapes before and after.
    pub(super) fn shapes(&self) -> impl Iterator<Item = &IndexedShape> {
        self.old.iter().chain(self.new.as_ref().map(|new| &new.indexed))
    }
}

/// A shape that enters the tile index.
pub(super) struct NewShape {
    pub(super) indexed: IndexedShape,
    pub(super) shape: TileShape,
    pub(super) attributes: Vec<u8>,
}

/// The outcome of updating the tile index.
pub(super) struct UpdatedIndex {
    /// The largest size class in each tier that was touched.
    pub(super) size_classes: Vec<(u8, u8)>,
    pub(super) writes: Vec<LayerWrite>,
}

/// Updates the loaded part of the tile index.
pub(super) fn update_index(
    mut index: TileIndex,
    layer: u64,
    changes: Vec<IndexChange>,
) -> UpdatedIndex {
    let mut writes = Vec::new();
    for change in changes {
        let position = change.position;
        if let Some(old) = &change.old {
            index.remove(position, old);
        }
        if change.is_known {
            writes.push(LayerWrite::DeleteLargeFeature { layer, position });
        }
        let Some(NewShape { indexed, shape, attributes }) = change.new else { continue };
        index.insert(position, &shape, indexed.polygon.as_ref(), &attributes);
        writes.extend(shape.levels.into_iter().map(|level| LayerWrite::SaveLargeFeature {
            layer,
            position,
            max_zoom: level.max_zoom,
            shape: level.bytes,
        }));
    }
    let size_classes = index.size_classes().collect();
    writes.extend(index.into_writes(layer));
    UpdatedIndex { size_classes, writes }
}
