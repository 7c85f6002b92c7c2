//! Receives files as `multipart/form-data` and keeps them in a temporary folder.

use super::upload_folder::UploadFolder;
use crate::{
    http::body,
    web::{
        Shared, WebError,
        form::Pairs,
        i18n::id,
        request_context::{MemberContext, RequestContext},
        secrets_match,
    },
};
use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::header,
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, future::ready, stream};
use groma_domain::UserId;
use multer::{Field, Multipart};
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::task::{spawn_blocking, yield_now};

/// Files of one Shapefile, with those that programs add.
const MAX_FILES: usize = 30;
/// The most fields that are not files; the form has three.
const MAX_FIELDS: usize = 10;
/// The longest value of a field that is not a file.
const MAX_TEXT: usize = 4 << 10;
/// The most bytes before a field and in its header.
const MAX_HEADER: u64 = 64 << 10;
/// How much of a file is in memory while it is received.
const BUFFER_BYTES: usize = 1 << 20;
/// The longest file name, in bytes.
const MAX_NAME: usize = 200;

/// Files that a member has sent, and the fields of the form. The form token was checked.
pub(in crate::web) struct Upload {
    pub(super) fields: Pairs,
    /// The name to show.
    pub(super) name: String,
    /// The file, or the folder with the files of a Shapefile.
    pub(super) path: PathBuf,
    pub(super) folder: UploadFolder,
}

impl FromRequest<Shared> for Upload {
    type Rejection = WebError;

    async fn from_request(request: Request, web: &Shared) -> Result<Self, WebError> {
        let (mut parts, body) = request.into_parts();
        let ctx = MemberContext::from_request_parts(&mut parts, web).await?;
        let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let mut is_checked = match header("x-csrf-token") {
            Some(token) => {
                check_token(&ctx.request, token)?;
                true
            }
            None => false,
        };
        let boundary = header(header::CONTENT_TYPE.as_str())
            .and_then(|kind| multer::parse_boundary(kind).ok())
            .ok_or_else(|| WebError::forbidden(id("error-form-expired")))?;
        ctx.store().check_import_limit(ctx.workspace_id(), ctx.member.person.id).await?;
        let place = web.uploads.take(Some(ctx.session.user), 1);
        let _place = place.ok_or_else(|| WebError::too_many(id("error-too-many-uploads")))?;
        let limits = &web.limits;
        let pace = body::Pace::Steady(limits.body_timeout, limits.min_upload_rate);
        let pieces = body::stream(body, limits.import_bytes, pace);
        let headers = HeaderLimit::default();
        let limit = headers.clone();
        let pieces = pieces.and_then(move |chunk| limit.clone().pass(chunk));
        let pause = stream::once(yield_now()).filter_map(|()| ready(None));
        let mut form = Multipart::new(Box::pin(pieces.chain(pause)), boundary);
        let mut received = Received::new()?;
        loop {
            headers.begin();
            let field = form.next_field().await.map_err(|error| failed(&error))?;
            let Some(field) = field else { break };
            headers.end();
            let name = field.name().unwrap_or_default().to_owned();
            if field.file_name().is_some() {
                // The token comes before the files, so that a stranger's page cannot make the server keep them.
                if !is_checked {
                    return Err(WebError::forbidden(id("error-form-expired")));
                }
                received.add_file(field).await?;
            } else if received.fields.len() >= MAX_FIELDS {
                return Err(WebError::too_large());
            } else {
                let text = read_text(field).await?;
                if name == "_csrf" {
                    check_token(&ctx.request, &text)?;
                    is_checked = true;
                }
                received.fields.push((name, text));
            }
        }
        if !is_checked {
            return Err(WebError::forbidden(id("error-form-expired")));
        }
        received.finish()
    }
}

/// Limits what multer keeps in memory: everything until it finds the beginning of a field.
///
/// multer takes whatever is ready, so there is a pause after each piece of the body, in which it looks at what it has.
/// The end needs one too: multer takes it for a missing field if it comes with the first boundary.
#[derive(Clone, Default)]
struct HeaderLimit {
    /// The bytes that may still arrive.
    left: Arc<AtomicU64>,
    /// Whether a piece of the body has arrived.
    has_begun: Arc<AtomicBool>,
}

impl HeaderLimit {
    /// A field is looked for.
    fn begin(&self) {
        self.left.store(MAX_HEADER, Ordering::Relaxed);
    }

    /// The field was found: its content is received in pieces.
    fn end(&self) {
        self.left.store(u64::MAX, Ordering::Relaxed);
    }

    /// Passes on a piece of the body, unless enough arrived already.
    async fn pass(self, chunk: Bytes) -> io::Result<Bytes> {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            yield_now().await;
        }
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.left.store(left.saturating_sub(chunk.len() as u64), Ordering::Relaxed);
        Ok(chunk)
    }
}

fn check_token(request: &RequestContext, token: &str) -> Result<(), WebError> {
    match request.has_cookie && secrets_match(token, &request.csrf_token()) {
        true => Ok(()),
        false => Err(WebError::forbidden(id("error-form-expired"))),
    }
}

/// What has arrived so far.
struct Received {
    fields: Vec<(String, String)>,
    files: Vec<PathBuf>,
    folder: UploadFolder,
}

impl Received {
    fn new() -> Result<Self, WebError> {
        let folder = UploadFolder::new();
        let folder = folder.map_err(|error| WebError::internal(error.to_string()))?;
        Ok(Self { fields: Vec::new(), files: Vec::new(), folder })
    }

    async fn add_file(&mut self, mut field: Field<'_>) -> Result<(), WebError> {
        let Some(name) = safe_name(field.file_name().unwrap_or_default()) else {
            // A form without a chosen file sends an empty one.
            while field.chunk().await.map_err(|error| failed(&error))?.is_some() {}
            return Ok(());
        };
        let path = self.folder.files().join(name);
        if self.files.len() >= MAX_FILES || self.files.contains(&path) {
            return Err(WebError::bad_request(id("error-import-files")));
        }
        let file = File::create_new(&path);
        let mut file = file.map_err(|error| WebError::internal(error.to_string()))?;
        let mut buffer = Vec::new();
        loop {
            let chunk = field.chunk().await.map_err(|error| failed(&error))?;
            let is_last = chunk.is_none();
            buffer.extend_from_slice(&chunk.unwrap_or_default());
            if is_last || buffer.len() >= BUFFER_BYTES {
                let full = std::mem::take(&mut buffer);
                let written = spawn_blocking(move || file.write_all(&full).map(|()| file)).await;
                let written = written.map_err(|error| WebError::internal(error.to_string()))?;
                file = written.map_err(|error| WebError::internal(error.to_string()))?;
            }
            if is_last {
                self.files.push(path);
                return Ok(());
            }
        }
    }

    fn finish(self) -> Result<Upload, WebError> {
        let Self { fields, files, folder } = self;
        let fields = Pairs::of(fields);
        let name =
            |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match files.as_slice() {
            [] => Err(WebError::bad_request(id("error-import-no-file"))),
            [file] => Ok(Upload { fields, name: name(file), path: file.clone(), folder }),
            files => {
                let is_shapefile = |path: &&PathBuf| {
                    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("shp"))
                };
                let shapefile = files.iter().find(is_shapefile);
                let shapefile =
                    shapefile.ok_or_else(|| WebError::bad_request(id("error-import-files")))?;
                let (name, path) = (name(shapefile), folder.files().to_owned());
                Ok(Upload { fields, name, path, folder })
            }
        }
    }
}

async fn read_text(mut field: Field<'_>) -> Result<String, WebError> {
    let mut text = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| failed(&error))? {
        text.extend_from_slice(&chunk);
        if text.len() > MAX_TEXT {
            return Err(WebError::too_large());
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The last part of a path, without what could lead out of the folder.
fn safe_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut name: String = last.chars().filter(|c| !c.is_control() && *c != ':').collect();
    // The end is kept, because it has the format.
    name.drain(..name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME)));
    let name = name.trim().to_owned();
    (!name.trim_matches('.').is_empty()).then_some(name)
}

fn failed(error: &multer::Error) -> WebError {
    if let multer::Error::StreamReadFailed(cause) = error {
        let cause = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        return match cause {
            Some(std::io::ErrorKind::FileTooLarge) => WebError::too_large(),
            Some(std::io::ErrorKind::TimedOut) => WebError::too_slow(),
            _ => WebError::bad_request(id("error-form-incomplete")),
        };
    }
    WebError::bad_request(id("error-form-incomplete"))
}

/// How many uploads are received at once, in all and from one user.
pub(in crate::web) type UploadQuota = std::sync::Arc<crate::quota::Quota<UserId>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_do_not_lead_out_of_the_folder() {
        for (name, safe) in [
            ("lots.shp", Some("lots.shp")),
            ("folder/lots.shp", Some("lots.shp")),
            ("../../etc/passwd", Some("passwd")),
            ("C:\\data\\Chêne nord.csv", Some("Chêne nord.csv")),
            ("..", None),
            ("a/..", None),
            ("", None),
            ("a\0b.csv", Some("ab.csv")),
        ] {
            assert_eq!(safe_name(name).as_deref(), safe, "{name}");
        }
        assert!(safe_name(&("é".repeat(300) + ".csv")).unwrap().ends_with(".csv"));
    }
}
