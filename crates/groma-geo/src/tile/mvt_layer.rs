//! Writes the single layer of a tile as Protocol Buffers. Features are written as they come; their
//! keys and values are collected and written after them.

use super::{
    byte_buffer::{ByteBuffer, field_size},
    mvt_geometry::EncodedGeometries,
    value_table::ValueTable,
};
use crate::{attributes, grid::EXTENT, varint};

/// Protobuf field headers (field number and wire type), by message.
mod header {
    pub(super) const TILE_LAYER: u8 = 3 << 3 | 2;
    pub(super) const LAYER_NAME: u8 = 1 << 3 | 2;
    pub(super) const LAYER_FEATURE: u8 = 2 << 3 | 2;
    pub(super) const LAYER_KEY: u8 = 3 << 3 | 2;
    pub(super) const LAYER_VALUE: u8 = 4 << 3 | 2;
    pub(super) const LAYER_EXTENT: u8 = 5 << 3;
    pub(super) const LAYER_VERSION: u8 = 15 << 3;
    pub(super) const FEATURE_ID: u8 = 1 << 3;
    pub(super) const FEATURE_TAGS: u8 = 2 << 3 | 2;
    pub(super) const FEATURE_TYPE: u8 = 3 << 3;
    pub(super) const FEATURE_GEOMETRY: u8 = 4 << 3 | 2;
}

/// The last two fields of a layer: the extent 4,096 and the version 2.
const LAYER_END: [u8; 5] =
    [header::LAYER_EXTENT, EXTENT as u8 | 0x80, (EXTENT >> 7) as u8, header::LAYER_VERSION, 2];

pub(super) struct LayerWriter<'a> {
    name: &'a str,
    field_names: &'a [&'a str],
    features: ByteBuffer,
    /// The fields that are used, in the order of their keys.
    keys: Vec<usize>,
    /// The key of each field that is used.
    key_of: Vec<Option<u32>>,
    values: ValueTable<'a>,
    /// The encoded size of the keys.
    keys_size: usize,
    /// The tags (pairs of key and value) of the current feature.
    tags: ByteBuffer,
}

/// A state to which a [`LayerWriter`] can return.
#[derive(Clone, Copy)]
pub(super) struct Checkpoint {
    features: usize,
    keys: usize,
    values: usize,
}

impl Checkpoint {
    /// Whether the layer had no feature yet.
    pub(super) fn is_empty(self) -> bool {
        self.features == 0
    }
}

impl<'a> LayerWriter<'a> {
    pub(super) fn new(name: &'a str, field_names: &'a [&'a str], features: usize) -> Self {
        Self {
            name,
            field_names,
            features: ByteBuffer::with_capacity(64 * features),
            keys: Vec::new(),
            key_of: vec![None; field_names.len()],
            values: ValueTable::with_capacity(2 * features),
            keys_size: 0,
            tags: ByteBuffer::default(),
        }
    }

    /// Adds the geometries of a feature. Each becomes an MVT feature: its id, if it has one, is `id` plus
    /// the index of its part. Adds nothing if the attributes are damaged.
    pub(super) fn add(
        &mut self,
        id: Option<u64>,
        geometries: EncodedGeometries<'_>,
        attributes: &'a [u8],
    ) {
        if geometries.is_empty() || self.collect_tags(attributes).is_none() {
            return;
        }
        let tags = self.tags.written();
        for (part, geom_type, commands) in geometries.parts() {
            let id = id.map(|id| id.wrapping_add(part));
            let id_size = id.map_or(0, |id| 1 + varint::length(id));
            let tags_size = if tags.is_empty() { 0 } else { field_size(tags.len()) };
            let size = id_size + tags_size + 2 + field_size(commands.len());
            let out = &mut self.features;
            out.put_small(|out| {
                out.put_field(header::LAYER_FEATURE, size as u64);
                if let Some(id) = id {
                    out.put_field(header::FEATURE_ID, id);
                }
                if !tags.is_empty() {
                    out.put_field(header::FEATURE_TAGS, tags.len() as u64);
                }
            });
            out.put_slice(tags);
            out.put_small(|out| {
                out.put_field(header::FEATURE_TYPE, geom_type as u64);
                out.put_field(header::FEATURE_GEOMETRY, commands.len() as u64);
            });
            out.put_slice(commands);
        }
    }

    /// Writes the tags of these attributes to `self.tags`. Skips fields that the layer does not have.
    fn collect_tags(&mut self, mut attributes: &'a [u8]) -> Option<()> {
        self.tags.truncate(0);
        while !attributes.is_empty() {
            let (field, message) = attributes::take(&mut attributes)?;
            let field = usize::try_from(field).ok()?;
            if field >= self.field_names.len() {
                continue;
            }
            let value = self.values.index_of(message)?;
            let key = self.key(field);
            self.tags.reserve(16);
            if key | value < 1 << 14 {
                self.tags.put_pair((key, value));
            } else {
                self.tags.put_varint(u64::from(key));
                self.tags.put_varint(u64::from(value));
            }
        }
        Some(())
    }

    fn key(&mut self, field: usize) -> u32 {
        *self.key_of[field].get_or_insert_with(|| {
            self.keys.push(field);
            self.keys_size += field_size(self.field_names[field].len());
            self.keys.len() as u32 - 1
        })
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            features: self.features.length(),
            keys: self.keys.len(),
            values: self.values.values().len(),
        }
    }

    /// Discards what was added since the checkpoint. After this, no feature can be added.
    pub(super) fn rollback(&mut self, checkpoint: Checkpoint) {
        self.features.truncate(checkpoint.features);
        let names = self.keys.drain(checkpoint.keys..).map(|field| self.field_names[field]);
        self.keys_size -= names.map(|name| field_size(name.len())).sum::<usize>();
        self.values.truncate(checkpoint.values);
    }

    /// The size of the tile in bytes.
    pub(super) fn size(&self) -> usize {
        field_size(self.layer_size())
    }

    fn layer_size(&self) -> usize {
        let dictionary = self.keys_size + self.values.size();
        field_size(self.name.len()) + self.features.length() + dictionary + LAYER_END.len()
    }

    /// The tile; empty if it has no feature.
    pub(super) fn finish(&self) -> Vec<u8> {
        if self.features.length() == 0 {
            return Vec::new();
        }
        let mut out = Vec::with_capacity(self.size());
        let field = |out: &mut Vec<u8>, header: u8, bytes: &[u8]| {
            put_header(out, header, bytes.len());
            out.extend_from_slice(bytes);
        };
        put_header(&mut out, header::TILE_LAYER, self.layer_size());
        field(&mut out, header::LAYER_NAME, self.name.as_bytes());
        out.extend_from_slice(self.features.written());
        for &key in &self.keys {
            field(&mut out, header::LAYER_KEY, self.field_names[key].as_bytes());
        }
        for value in self.values.values() {
            field(&mut out, header::LAYER_VALUE, value);
        }
        out.extend_from_slice(&LAYER_END);
        out
    }
}

/// Appends the header of a length-delimited field and its length.
fn put_header(out: &mut Vec<u8>, header: u8, length: usize) {
    // Nearly all values are this short.
    if length < 0x80 {
        out.extend_from_slice(&[header, length as u8]);
    } else {
        out.push(header);
        varint::put(out, length as u64);
    }
}
