//! Pages in another order than that of creation: all items are read, and the first ones of the page's order
//! kept. Then they are read again and written.

use super::{
    items::ItemSource,
    page::PageWriter,
    sort::{SortOrder, Sorted, SortedItem, Sorter},
};
use crate::http::HttpError;
use std::{future::Future, sync::Arc};

/// The number of items that are written at a time.
const WRITTEN: usize = 100;

/// Items that can be sorted.
pub(super) trait SortableItems: Send + 'static {
    /// How an item is found again.
    type Id: Send + 'static;

    /// Adds the next items that match to an order; false at the end of the collection.
    fn sort_next(
        &mut self,
        order: &Arc<SortOrder>,
        sorter: Sorter<Self::Id>,
    ) -> impl Future<Output = Result<(Sorter<Self::Id>, bool), HttpError>> + Send;

    /// Adds these items to a page, unless they have been deleted since.
    fn write(
        &mut self,
        items: Vec<SortedItem<Self::Id>>,
        page: PageWriter,
    ) -> impl Future<Output = Result<PageWriter, HttpError>> + Send;

    /// The number of all items.
    fn total(&self) -> u64;
}

/// The items of a page in an order.
pub(super) struct SortedItems<S: SortableItems> {
    items: S,
    order: Arc<SortOrder>,
    /// `None` when everything is written.
    step: Option<Step<S::Id>>,
}

enum Step<T> {
    Sort(Sorter<T>),
    Write(Sorted<T>),
}

impl<S: SortableItems> SortedItems<S> {
    pub(super) fn new(items: S, order: SortOrder, sorter: Sorter<S::Id>) -> Self {
        Self { items, order: Arc::new(order), step: Some(Step::Sort(sorter)) }
    }
}

impl<S: SortableItems> ItemSource for SortedItems<S> {
    async fn advance(&mut self, mut page: PageWriter) -> Result<(PageWriter, bool), HttpError> {
        match self.step.take() {
            Some(Step::Sort(sorter)) => {
                let (sorter, has_more) = self.items.sort_next(&self.order, sorter).await?;
                self.step = Some(match has_more {
                    true => Step::Sort(sorter),
                    false => {
                        let sorted = sorter.finish();
                        page.set_matches(sorted.count);
                        Step::Write(sorted)
                    }
                });
                Ok((page, true))
            }
            Some(Step::Write(mut sorted)) => {
                let items = sorted.items.by_ref().take(WRITTEN).collect();
                let mut page = self.items.write(items, page).await?;
                if sorted.items.len() > 0 {
                    self.step = Some(Step::Write(sorted));
                    return Ok((page, true));
                }
                // Also if items of this page have been deleted since.
                page.has_more |= sorted.has_more;
                Ok((page, false))
            }
            None => Ok((page, false)),
        }
    }

    fn total(&self) -> u64 {
        self.items.total()
    }
}
