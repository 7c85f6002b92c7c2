//! Checks properties against the declared fields of their layer, and fills in defaults.

use super::{
    LayerTx, Layers, StoredFeature, feature_spool::PreparedFeature, known_features::KnownFeatures,
};
use crate::{Result, engine::impl_work};
use groma_domain::{
    DomainError, PropertyError, WorkspaceId,
    layer::{DeclaredField, LayerKey, check_properties, fill_defaults},
};
use groma_geo::attributes;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The most problems that are reported.
const MAX_PROBLEMS: usize = 20;
/// How many features are read at a time to count those that do not fit.
const BATCH: u32 = 1_000;

/// Checks the features of a spool.
#[derive(Default)]
pub(super) struct PropertyCheck {
    fields: Vec<DeclaredField>,
    /// The spool's numbers of the properties.
    numbers: HashMap<String, u32>,
    problems: Vec<PropertyError>,
}

impl PropertyCheck {
    /// `names` are the properties of the spool; those with defaults are added.
    pub(super) fn new(fields: &[DeclaredField], names: &mut Vec<String>) -> Self {
        if fields.is_empty() {
            return Self::default();
        }
        let mut numbers: HashMap<_, _> = names.iter().cloned().zip(0..).collect();
        for DeclaredField { name, default, .. } in fields {
            if default.is_some() && !numbers.contains_key(name) {
                numbers.insert(name.clone(), names.len() as u32);
                names.push(name.clone());
            }
        }
        Self { fields: fields.to_vec(), numbers, problems: Vec::new() }
    }

    /// Fills in defaults, and collects what is wrong.
    pub(super) fn check(
        &mut self,
        feature: &mut PreparedFeature,
        old: Option<&StoredFeature>,
    ) -> Result<()> {
        if self.fields.is_empty() || self.problems.len() >= MAX_PROBLEMS {
            return Ok(());
        }
        let mut properties = parse(&feature.properties)?;
        let old = old.map(|old| parse(&old.properties)).transpose()?;
        if fill_defaults(&self.fields, &mut properties, old.as_ref()) {
            feature.properties = serde_json::to_string(&properties)?;
            let numbered = properties.iter();
            let numbered =
                numbered.filter_map(|(name, value)| Some((*self.numbers.get(name)?, value)));
            feature.attributes = attributes::encode(numbered);
        }
        let problems = check_properties(&self.fields, &properties, old.as_ref());
        let room = MAX_PROBLEMS - self.problems.len();
        self.problems.extend(problems.into_iter().take(room).map(|(property, violation)| {
            PropertyError { feature: feature.index, property, violation }
        }));
        Ok(())
    }

    pub(super) fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    pub(super) fn require_valid(&self) -> Result<()> {
        match self.is_valid() {
            true => Ok(()),
            false => Err(DomainError::InvalidProperties(self.problems.clone()).into()),
        }
    }
}

fn parse(properties: &str) -> Result<Map<String, Value>> {
    Ok(serde_json::from_str(properties)?)
}

impl_work! {
    FindProperties => Vec<Option<Map<String, Value>>>;
}

impl Layers {
    /// The properties of the features that each of these ids would replace.
    pub(crate) async fn stored_properties(
        &self,
        workspace: WorkspaceId,
        layer: LayerKey,
        ids: Vec<String>,
    ) -> Result<Vec<Option<Map<String, Value>>>> {
        self.engine.transact(FindProperties { workspace, layer, ids }).await
    }

    /// The number of stored features that do not fit the declared fields of their layer.
    pub(crate) async fn count_unfit_features(
        &self,
        workspace: WorkspaceId,
        key: &LayerKey,
    ) -> Result<u64> {
        let Some(layer) = self.get(workspace, key).await? else { return Ok(0) };
        let (mut unfit, mut after) = (0, 0);
        while !layer.declared_fields.is_empty() {
            let features = self.features(workspace, key, after, BATCH).await?;
            let Some(last) = features.last() else { break };
            after = last.position;
            for feature in &features {
                let properties = parse(&feature.properties)?;
                let problems = check_properties(&layer.declared_fields, &properties, None);
                unfit += u64::from(!problems.is_empty());
            }
        }
        Ok(unfit)
    }
}

#[derive(Clone)]
struct FindProperties {
    workspace: WorkspaceId,
    layer: LayerKey,
    ids: Vec<String>,
}

impl FindProperties {
    async fn run<T: LayerTx>(self, tx: &mut T) -> Result<Vec<Option<Map<String, Value>>>> {
        let Self { workspace, layer, ids } = self;
        let Some(stored) = tx.layer(workspace, &layer).await? else {
            return Ok(vec![None; ids.len()]);
        };
        let texts = ids.iter().map(String::as_str).collect();
        let known = KnownFeatures::find(tx, workspace, stored.no, texts).await?;
        let find = |id: &String| known.get(id).map(|feature| parse(&feature.properties));
        ids.iter().map(|id| find(id).transpose()).collect()
    }
}
