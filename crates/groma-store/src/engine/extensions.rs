//! State that topics attach to a transaction, by type. The engine carries it without knowing it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
};

/// Values by their type.
#[derive(Default)]
pub(crate) struct Extensions(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Extensions {
    /// The value of this type.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref())
    }

    /// Sets the value of this type.
    pub(crate) fn insert<T: Any + Send + Sync>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// Removes and returns the value of this type.
    pub(crate) fn remove<T: Any + Send + Sync>(&mut self) -> Option<T> {
        let value = self.0.remove(&TypeId::of::<T>())?;
        value.downcast().ok().map(|value| *value)
    }
}
