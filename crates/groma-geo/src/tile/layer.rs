//! The one layer of a tile, written as protocol buffers: features as they come, keys and values
//! gathered on the way and written after them.

use super::{
    buffer::{Buffer, field_size},
    painter::Drawn,
    values::Values,
    view::EXTENT,
};
use crate::{attributes, varint};

/// The heads of the fields of the messages, by message.
mod head {
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

/// The extent of 4,096 and the version 2, which end a layer.
const TAIL: [u8; 5] =
    [head::LAYER_EXTENT, EXTENT as u8 | 0x80, (EXTENT >> 7) as u8, head::LAYER_VERSION, 2];

/// A layer in the making.
pub(super) struct Layer<'a> {
    name: &'a str,
    field_names: &'a [&'a str],
    features: Buffer,
    /// The fields in use, in the order of their keys.
    keys: Vec<usize>,
    key_of: Vec<Option<u32>>,
    values: Values<'a>,
    /// What the keys take.
    keys_size: usize,
    tags: Buffer,
}

/// How far a [`Layer`] had come.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    features: usize,
    keys: usize,
    values: usize,
}

impl Mark {
    /// Whether there was no feature yet.
    pub(super) fn is_empty(self) -> bool {
        self.features == 0
    }
}

impl<'a> Layer<'a> {
    pub(super) fn new(name: &'a str, field_names: &'a [&'a str], features: usize) -> Self {
        Self {
            name,
            field_names,
            features: Buffer::with_room(64 * features),
            keys: Vec::new(),
            key_of: vec![None; field_names.len()],
            values: Values::new(2 * features),
            keys_size: 0,
            tags: Buffer::default(),
        }
    }

    /// Adds what was drawn of a feature, each part under an id of its own; nothing when its
    /// attributes are damaged.
    pub(super) fn add(&mut self, id: u64, drawn: Drawn<'_>, attributes: &'a [u8]) {
        if drawn.is_empty() || self.tag(attributes).is_none() {
            return;
        }
        let tags = self.tags.written();
        for (part, kind, commands) in drawn.parts() {
            let id = id.wrapping_add(part);
            let tags_size = if tags.is_empty() { 0 } else { field_size(tags.len()) };
            let size = 1 + varint::length(id) + tags_size + 2 + field_size(commands.len());
            let out = &mut self.features;
            out.put_few(|few| {
                few.put_number(head::LAYER_FEATURE, size as u64);
                few.put_number(head::FEATURE_ID, id);
                if !tags.is_empty() {
                    few.put_number(head::FEATURE_TAGS, tags.len() as u64);
                }
            });
            out.put_slice(tags);
            out.put_few(|few| {
                few.put_number(head::FEATURE_TYPE, kind as u64);
                few.put_number(head::FEATURE_GEOMETRY, commands.len() as u64);
            });
            out.put_slice(commands);
        }
    }

    /// Makes the tags of these attributes. A field that the layer does not know is left out.
    fn tag(&mut self, mut attributes: &'a [u8]) -> Option<()> {
        self.tags.truncate(0);
        while !attributes.is_empty() {
            let (field, message) = attributes::take(&mut attributes)?;
            let field = usize::try_from(field).ok()?;
            if field >= self.field_names.len() {
                continue;
            }
            let value = self.values.number(message)?;
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

    pub(super) fn mark(&self) -> Mark {
        Mark {
            features: self.features.length(),
            keys: self.keys.len(),
            values: self.values.list().len(),
        }
    }

    /// Takes back what was added since the mark. After that nothing more can be added.
    pub(super) fn cut(&mut self, mark: Mark) {
        self.features.truncate(mark.features);
        let names = self.keys.drain(mark.keys..).map(|field| self.field_names[field]);
        self.keys_size -= names.map(|name| field_size(name.len())).sum::<usize>();
        self.values.truncate(mark.values);
    }

    /// How many bytes the tile has.
    pub(super) fn size(&self) -> usize {
        field_size(self.layer_size())
    }

    fn layer_size(&self) -> usize {
        let dictionary = self.keys_size + self.values.size();
        field_size(self.name.len()) + self.features.length() + dictionary + TAIL.len()
    }

    /// The tile; no bytes when it has no feature.
    pub(super) fn finish(&self) -> Vec<u8> {
        if self.features.length() == 0 {
            return Vec::new();
        }
        let mut out = Vec::with_capacity(self.size());
        let field = |out: &mut Vec<u8>, head: u8, bytes: &[u8]| {
            put_head(out, head, bytes.len());
            out.extend_from_slice(bytes);
        };
        put_head(&mut out, head::TILE_LAYER, self.layer_size());
        field(&mut out, head::LAYER_NAME, self.name.as_bytes());
        out.extend_from_slice(self.features.written());
        for &key in &self.keys {
            field(&mut out, head::LAYER_KEY, self.field_names[key].as_bytes());
        }
        for value in self.values.list() {
            field(&mut out, head::LAYER_VALUE, value);
        }
        out.extend_from_slice(&TAIL);
        out
    }
}

/// Appends the head of a field, and the number of its bytes.
fn put_head(out: &mut Vec<u8>, head: u8, bytes: usize) {
    // As for nearly every value.
    if bytes < 0x80 {
        out.extend_from_slice(&[head, bytes as u8]);
    } else {
        out.push(head);
        varint::put(out, bytes as u64);
    }
}
