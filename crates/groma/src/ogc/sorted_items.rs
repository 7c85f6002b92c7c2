//! Pages in another order than that of creation: all items are read, and the first ones of the page's order
//! kept. Then they are read again and written.

use super::{
    items::ItemSource,
    layer_items::FeatureWriter,
    page::PageWriter,
    record_items::RecordItems,
    sort::{SortOrder, Sorted, SortedItem, Sorter},
};
use crate::http::HttpError;
use groma_domain::RecordId;
use groma_store::FeatureReader;
use std::{collections::HashMap, sync::Arc, vec};

/// The number of features that are read at a time: to sort them, and to write them.
const CHUNK: u32 = 1_000;
const WRITTEN: usize = 100;

/// What is left to do.
enum Step<T> {
    Sort(Sorter<T>),
    Write(Sorted<T>),
}

/// The page as far as it is written, and whether there is more to write.
fn sorted_page<T>(
    mut page: PageWriter,
    sorted: Sorted<T>,
    step: &mut Option<Step<T>>,
) -> (PageWriter, bool) {
    if sorted.items.len() > 0 {
        *step = Some(Step::Write(sorted));
        return (page, true);
    }
    // Also if items of this page have been deleted since.
    page.has_more |= sorted.has_more;
    (page, false)
}

/// The features of a layer.
pub(super) struct SortedLayerItems {
    reader: FeatureReader,
    features: Arc<FeatureWriter>,
    order: Arc<SortOrder>,
    step: Option<Step<()>>,
}

impl SortedLayerItems {
    pub(super) fn new(
        reader: FeatureReader,
        features: Arc<FeatureWriter>,
        order: SortOrder,
        sorter: Sorter<()>,
    ) -> Self {
        Self { reader, features, order: Arc::new(order), step: Some(Step::Sort(sorter)) }
    }

    async fn sort(&mut self, mut sorter: Sorter<()>) -> Result<Option<Sorter<()>>, HttpError> {
        let read = self.reader.next(CHUNK).await?;
        if read.is_empty() {
            self.step = Some(Step::Sort(sorter));
            return Ok(None);
        }
        let (features, order) = (self.features.clone(), self.order.clone());
        let sort = move || features.sort_all(&read, &order, &mut sorter).map(|()| sorter);
        let sorted = tokio::task::spawn_blocking(sort).await;
        sorted.map_err(|error| HttpError::internal(error.to_string()))?.map(Some)
    }

    async fn write(
        &self,
        items: &mut vec::IntoIter<SortedItem<()>>,
        mut page: PageWriter,
    ) -> Result<PageWriter, HttpError> {
        let items: Vec<_> = items.take(WRITTEN).collect();
        let positions: Vec<u64> = items.iter().map(|item| item.position).collect();
        let found = self.reader.read_at(&positions).await?;
        let found: HashMap<u64, _> =
            found.into_iter().map(|feature| (feature.position, feature)).collect();
        for SortedItem { key, position, .. } in items {
            // Features may have been deleted since.
            if let Some(feature) = found.get(&position) {
                page.add_sorted(position, key, |out| self.features.write(feature, out))?;
            }
        }
        Ok(page)
    }
}

impl ItemSource for SortedLayerItems {
    async fn advance(&mut self, mut page: PageWriter) -> Result<(PageWriter, bool), HttpError> {
        match self.step.take() {
            Some(Step::Sort(sorter)) => {
                let sorted = self.sort(sorter).await?;
                self.step = match (sorted, self.step.take()) {
                    (Some(sorter), _) => Some(Step::Sort(sorter)),
                    (None, Some(Step::Sort(sorter))) => {
                        let sorted = sorter.finish();
                        page.set_matches(sorted.count);
                        Some(Step::Write(sorted))
                    }
                    (None, step) => step,
                };
                Ok((page, true))
            }
            Some(Step::Write(mut sorted)) => {
                let page = self.write(&mut sorted.items, page).await?;
                Ok(sorted_page(page, sorted, &mut self.step))
            }
            None => Ok((page, false)),
        }
    }

    fn total(&self) -> u64 {
        self.reader.layer().counts.total()
    }
}

/// Records of a kind.
pub(super) struct SortedRecordItems {
    records: RecordItems,
    order: SortOrder,
    step: Option<Step<RecordId>>,
}

impl SortedRecordItems {
    pub(super) fn new(records: RecordItems, order: SortOrder, sorter: Sorter<RecordId>) -> Self {
        Self { records, order, step: Some(Step::Sort(sorter)) }
    }
}

impl ItemSource for SortedRecordItems {
    async fn advance(&mut self, mut page: PageWriter) -> Result<(PageWriter, bool), HttpError> {
        match self.step.take() {
            Some(Step::Sort(mut sorter)) => {
                let has_more = self.records.sort_next(&self.order, &mut sorter).await?;
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
                for SortedItem { key, position, item } in sorted.items.by_ref().take(WRITTEN) {
                    let mut record = Vec::new();
                    // Records may have been deleted since.
                    if self.records.write(item, &mut record).await? {
                        page.add_sorted(position, key, |out| {
                            out.extend_from_slice(&record);
                            Ok::<_, HttpError>(())
                        })?;
                    }
                }
                Ok(sorted_page(page, sorted, &mut self.step))
            }
            None => Ok((page, false)),
        }
    }

    fn total(&self) -> u64 {
        self.records.total()
    }
}
