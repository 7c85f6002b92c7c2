//! Finds the features of a file whose properties do not fit the declared fields of their layer, before any
//! feature is written.

use super::{
    ImportError, MAX_ERRORS,
    rejected_feature::{FeatureError, RejectedFeature},
};
use groma_domain::{
    LayerId, PropertyError, Violation, WorkspaceId,
    layer::{DeclaredField, LayerKey, check_properties, fill_defaults},
};
use groma_geo::geojson::Feature;
use groma_store::Store;
use serde_json::{Map, Value};

/// How many stored features are looked up at a time.
const BATCH: usize = 1_000;

/// A feature that does not fit.
pub(super) struct Misfit {
    /// Its number among the valid features of the file, from 0.
    pub(super) number: u64,
    pub(super) rejected: RejectedFeature,
}

/// Checks the features of a file as if all were new. [`FieldCheck::misfits`] then drops those that leave a
/// stored feature as it is.
pub(super) struct FieldCheck {
    fields: Vec<DeclaredField>,
    count: u64,
    suspects: Vec<Suspect>,
}

struct Suspect {
    number: u64,
    line: u64,
    index: Option<usize>,
    external_id: Option<String>,
    properties: Map<String, Value>,
}

impl FieldCheck {
    pub(super) fn new(fields: &[DeclaredField]) -> Self {
        Self { fields: fields.to_vec(), count: 0, suspects: Vec::new() }
    }

    pub(super) fn check(&mut self, feature: &Feature) {
        let number = self.count;
        self.count += 1;
        if self.fields.is_empty() || self.suspects.len() >= MAX_ERRORS {
            return;
        }
        let mut properties = feature.properties.clone();
        fill_defaults(&self.fields, &mut properties, None);
        if !check_properties(&self.fields, &properties, None).is_empty() {
            self.suspects.push(Suspect {
                number,
                line: feature.line,
                index: feature.index,
                external_id: feature.external_id.clone(),
                properties: feature.properties.clone(),
            });
        }
    }

    /// The features that the store would reject.
    pub(super) async fn misfits(
        self,
        store: &Store,
        workspace: WorkspaceId,
        layer: LayerId,
    ) -> Result<Vec<Misfit>, ImportError> {
        let Self { fields, suspects, .. } = self;
        let mut misfits = Vec::new();
        for batch in suspects.chunks(BATCH) {
            // No feature has an empty id.
            let ids = batch.iter().map(|one| one.external_id.clone().unwrap_or_default());
            let key = LayerKey::Id(layer);
            let stored = store.stored_properties(workspace, key, ids.collect()).await?;
            for (suspect, old) in batch.iter().zip(stored) {
                let mut properties = suspect.properties.clone();
                fill_defaults(&fields, &mut properties, old.as_ref());
                let problems = check_properties(&fields, &properties, old.as_ref());
                misfits.extend(suspect.misfit(problems));
            }
        }
        Ok(misfits)
    }
}

impl Suspect {
    /// One error with all problems of the feature.
    fn misfit(&self, problems: Vec<(String, Violation)>) -> Option<Misfit> {
        let problem =
            |(property, violation)| PropertyError { feature: self.index, property, violation };
        let problems: Vec<PropertyError> = problems.into_iter().map(problem).collect();
        let pointer = match problems.as_slice() {
            [] => return None,
            [only] => only.pointer(),
            [first, ..] => {
                let pointer = first.pointer();
                pointer.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned()
            }
        };
        let reason = FeatureError::Properties(problems);
        let rejected = RejectedFeature { pointer, line: self.line, reason };
        Some(Misfit { number: self.number, rejected })
    }
}
