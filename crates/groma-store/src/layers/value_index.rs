//! The index of the values of declared fields, by which filters find features.
//!
//! A field has the number that it has in the layer's statistics. The transaction that writes features keeps
//! the index exact, and the one that changes the declared fields builds it. Layers without declared fields
//! have no entries.

use super::{LayerTx, LayerWrite, StoredFeature};
use crate::Result;
use groma_domain::{
    Layer, WorkspaceId,
    cql2::{Properties, value_key},
    layer::DeclaredField,
};

/// The number of positions that are indexed at a time.
const BATCH: u64 = 1_000;

/// A value of a feature: the number of its field, and its key.
pub(crate) type IndexedValue = (u64, Vec<u8>);

/// Values of an indexed field, by their keys.
pub(super) struct KeyRange {
    pub(super) field: u64,
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
}

/// The fields of a layer that are indexed.
pub(super) struct ValueIndex {
    /// The names of the fields, and their numbers once they are known.
    fields: Vec<(String, Option<u64>)>,
}

impl ValueIndex {
    pub(super) fn new(layer: &Layer) -> Self {
        let name = |field: &DeclaredField| (field.name.clone(), None);
        let mut index = Self { fields: layer.declared_fields.iter().map(name).collect() };
        index.find_numbers(layer);
        index
    }

    /// Finds the numbers of fields that occur for the first time.
    pub(super) fn find_numbers(&mut self, layer: &Layer) {
        for (name, number) in self.fields.iter_mut().filter(|(_, number)| number.is_none()) {
            *number = field_number(layer, name);
        }
    }

    /// The writes for a feature that is created, changed or deleted.
    pub(super) fn writes(
        &self,
        layer: u64,
        position: u64,
        old: Option<&str>,
        new: Option<&str>,
    ) -> Result<Vec<LayerWrite>> {
        let mut writes = Vec::new();
        if self.fields.is_empty() || old == new {
            return Ok(writes);
        }
        let [old, new] = [old, new].map(|properties| self.values(properties));
        let (mut old, mut new) = (old?, new?);
        let kept: Vec<IndexedValue> =
            old.iter().filter(|value| new.contains(value)).cloned().collect();
        old.retain(|value| !kept.contains(value));
        new.retain(|value| !kept.contains(value));
        if !old.is_empty() {
            writes.push(LayerWrite::DeleteValues { layer, position, values: old });
        }
        if !new.is_empty() {
            writes.push(LayerWrite::SaveValues { layer, position, values: new });
        }
        Ok(writes)
    }

    fn values(&self, properties: Option<&str>) -> Result<Vec<IndexedValue>> {
        let Some(properties) = properties else { return Ok(Vec::new()) };
        let properties = Properties::read(properties)?;
        let value = |(name, number): &(String, Option<u64>)| {
            Some(((*number)?, value_key(&properties.get(name))?))
        };
        Ok(self.fields.iter().filter_map(value).collect())
    }
}

/// The number of a field; `None` if no feature has it.
pub(super) fn field_number(layer: &Layer, name: &str) -> Option<u64> {
    let number = layer.fields.iter().position(|field| field.name == name)?;
    Some(number as u64)
}

/// Builds the index of fields that are declared now, and removes that of fields that are not declared any
/// more.
pub(super) async fn rebuild<T: LayerTx>(
    tx: &mut T,
    workspace: WorkspaceId,
    no: u64,
    (before, after): (&Layer, &Layer),
) -> Result<()> {
    let is_declared =
        |layer: &Layer, name: &str| layer.declared_fields.iter().any(|field| field.name == name);
    let removed = before.declared_fields.iter().filter(|field| !is_declared(after, &field.name));
    let numbers = removed.filter_map(|field| field_number(before, &field.name));
    let deletions = numbers.map(|field| LayerWrite::DeleteFieldValues { layer: no, field });
    tx.write_layers(workspace, deletions.collect()).await?;
    let mut index = ValueIndex::new(after);
    index.fields.retain(|(name, number)| number.is_some() && !is_declared(before, name));
    if index.fields.is_empty() {
        return Ok(());
    }
    let mut first = 1;
    while first <= after.last_seq {
        let features = tx.features_between(workspace, no, first, first + BATCH - 1).await?;
        let mut writes = Vec::new();
        for StoredFeature { position, properties, .. } in &features {
            writes.extend(index.writes(no, *position, None, Some(properties))?);
        }
        tx.write_layers(workspace, writes).await?;
        first += BATCH;
    }
    Ok(())
}
