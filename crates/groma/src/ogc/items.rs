//! Responses with items: pages, which are sent while they are read, and single items.

use super::{
    Ogc,
    crs::{CONTENT_CRS, ItemCrs},
    cursor::Cursor,
    field_schema::FieldSchema,
    item_query::ItemQuery,
    links::{JSON, Link, SCHEMA},
    page::PageWriter,
};
use crate::{
    clock,
    http::{HttpError, ResponseOptions},
    member_slots::SteppedSearch,
    token_auth::Caller,
};
use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use groma_geo::geojson::GEOJSON;
use serde::Serialize;
use std::{future::Future, io};

/// What the items of a page are read from.
pub(super) trait ItemSource: Send + 'static {
    /// Adds the next items to the page; false at the end of the collection.
    fn advance(
        &mut self,
        page: PageWriter,
    ) -> impl Future<Output = Result<(PageWriter, bool), HttpError>> + Send;

    /// The number of all items.
    fn total(&self) -> u64;
}

/// Begins the search that a query requires; `None` if it leaves no items out and keeps their order.
pub(super) async fn begin_search(
    ogc: &Ogc,
    caller: &Caller,
    query: &ItemQuery,
) -> Result<Option<SteppedSearch>, HttpError> {
    if !query.is_filtered() && query.order.is_none() {
        return Ok(None);
    }
    let (workspace, person) = (caller.token.workspace, caller.token.person);
    let search = ogc.search_slots.begin_search(workspace, person).await;
    search.map(Some).ok_or_else(HttpError::too_many_searches)
}

/// Sends a page of items.
pub(super) async fn respond_page<S: ItemSource>(
    ogc: &Ogc,
    collection: &str,
    source: S,
    (query, search): (ItemQuery, Option<SteppedSearch>),
    etag: Option<HeaderValue>,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let page = PageWriter::new(&query.cursor, query.limit, query.is_filtered());
    let content_crs = query.crs.header();
    let url = format!("{}/collections/{collection}", ogc.url);
    let queryables = FieldSchema::Queryables;
    let queryables = format!(
        "<{url}/{}>; rel=\"{}\"; type=\"{SCHEMA}\"",
        queryables.name(),
        queryables.relation()
    );
    let mut body = PageBody { source, search, page: Some(page), is_at_end: false, url, query };
    // Before the response begins, an error still has a status.
    let first = body.next().await?;
    let rest = stream::try_unfold(body, async |mut body| {
        let part = body.next().await.map_err(|error| {
            tracing::error!(?error, "a page of items ends early");
            io::Error::other("the items cannot be read")
        })?;
        Ok(part.map(|part| (part, body)))
    });
    let parts = stream::iter(first.map(Ok)).chain(rest);
    let mut response = options.stream(GEOJSON, etag, parts);
    response.headers_mut().insert(CONTENT_CRS, content_crs);
    // Slugs and URLs of settings are always valid in headers.
    let link = HeaderValue::try_from(queryables);
    response.headers_mut().extend(link.ok().map(|link| (header::LINK, link)));
    Ok(response)
}

/// The body of a page.
struct PageBody<S> {
    source: S,
    /// `None` if the items are not searched for.
    search: Option<SteppedSearch>,
    /// `None` when everything is written.
    page: Option<PageWriter>,
    is_at_end: bool,
    /// The URL of the collection.
    url: String,
    query: ItemQuery,
}

/// The members of a page after its features.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PageEnd {
    number_returned: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    number_matched: Option<u64>,
    time_stamp: String,
    links: Vec<Link>,
}

impl<S: ItemSource> PageBody<S> {
    /// The next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, HttpError> {
        if self.page.is_none() {
            return Ok(None);
        }
        let Some(mut search) = self.search.take() else { return self.read().await };
        let part = search.step(self.read()).await.ok_or(groma_store::Error::SearchTimeout)?;
        self.search = Some(search);
        part
    }

    async fn read(&mut self) -> Result<Option<Bytes>, HttpError> {
        loop {
            let Some(mut page) = self.page.take() else { return Ok(None) };
            if self.is_at_end || page.is_complete() {
                self.write_end(&mut page)?;
                return Ok(Some(page.take()));
            }
            let returned = page.returned;
            let (mut page, has_more) = self.source.advance(page).await?;
            self.is_at_end = !has_more;
            let is_last = self.is_at_end || page.is_complete();
            let part = (page.returned > returned && !is_last).then(|| page.take());
            self.page = Some(page);
            if part.is_some() {
                return Ok(part);
            }
        }
    }

    fn write_end(&self, page: &mut PageWriter) -> Result<(), HttpError> {
        let items = format!("{}/items", self.url);
        let address = |cursor: &Cursor| match self.query.parameters.query_string(cursor) {
            query if query.is_empty() => items.clone(),
            query => format!("{items}?{query}"),
        };
        let mut links = vec![
            Link::new("self", GEOJSON, address(&self.query.cursor), "This page"),
            Link::page(&address(&self.query.cursor)),
            Link::new("collection", JSON, &self.url, "The collection"),
        ];
        if page.has_more {
            links.push(Link::new("next", GEOJSON, address(&page.next_cursor()), "The next page"));
        }
        let end = PageEnd {
            number_returned: page.returned,
            number_matched: page.number_matched(self.source.total()),
            time_stamp: clock::now().to_string(),
            links,
        };
        page.append(b"],");
        page.append(&members(&end)?);
        Ok(())
    }
}

/// Sends one item. `feature` is its GeoJSON Feature, which gets links.
pub(super) fn respond_item(
    ogc: &Ogc,
    collection: &str,
    (id, feature): (&str, Vec<u8>),
    crs: &ItemCrs,
    options: ResponseOptions,
) -> Result<Response, HttpError> {
    let document = item_document(&ogc.url, collection, (id, feature), crs)?;
    let mut response = options.text(GEOJSON, document);
    response.headers_mut().insert(CONTENT_CRS, crs.header());
    Ok(response)
}

/// A GeoJSON Feature with links. `url` is that of the landing page. The link to the feature itself names the
/// reference system, so documents in different systems never have the same `ETag`.
pub(super) fn item_document(
    url: &str,
    collection: &str,
    (id, mut feature): (&str, Vec<u8>),
    crs: &ItemCrs,
) -> Result<Vec<u8>, HttpError> {
    #[derive(Serialize)]
    struct ItemEnd {
        links: [Link; 3],
    }
    let url = format!("{url}/collections/{collection}");
    let item = match crs.is_default() {
        true => format!("{url}/items/{id}"),
        false => {
            let mut query = form_urlencoded::Serializer::new(String::new());
            format!("{url}/items/{id}?{}", query.append_pair("crs", crs.uri()).finish())
        }
    };
    let links = [
        Link::new("self", GEOJSON, &item, "This item"),
        Link::page(&item),
        Link::new("collection", JSON, url, "The collection"),
    ];
    // The closing brace.
    feature.pop();
    feature.push(b',');
    feature.extend_from_slice(&members(&ItemEnd { links })?);
    Ok(feature)
}

/// The members of an object as JSON, with its closing brace but without the opening one.
fn members(object: &impl Serialize) -> Result<Vec<u8>, HttpError> {
    let mut json =
        serde_json::to_vec(object).map_err(|error| HttpError::internal(error.to_string()))?;
    json.remove(0);
    Ok(json)
}
