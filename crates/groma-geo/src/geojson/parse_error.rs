//! Errors while a document is read, and where they occurred.
//!
//! The JSON pointer of an error is assembled from the inside out while the error is passed up, so
//! that reading a valid document pays nothing for it.

use crate::Message;
use std::{borrow::Cow, io};

/// Boxed, because a result is returned for every number of every position.
pub(super) type ParseResult<T> = Result<T, Box<ParseError>>;

/// Why reading stopped.
pub(super) enum ParseError {
    /// The text is not valid JSON. The rest of it cannot be read.
    Syntax(ErrorDetail),
    /// The text is valid JSON, but not what GeoJSON requires. The rest of it can be read.
    Invalid(ErrorDetail),
    /// The maximum number of errors was reached.
    TooManyErrors,
    /// The callback that receives the features returned an error.
    Stopped,
    /// The input could not be read.
    Input(io::Error),
}

impl ParseError {
    fn detail(&mut self) -> Option<&mut ErrorDetail> {
        match self {
            Self::Syntax(detail) | Self::Invalid(detail) => Some(detail),
            Self::TooManyErrors | Self::Stopped | Self::Input(_) => None,
        }
    }

    /// Marks the error as one that coordinates in another reference system would explain.
    pub(super) fn suggesting_other_crs(mut self: Box<Self>) -> Box<Self> {
        if let Some(detail) = self.detail() {
            detail.suggests_other_crs = true;
        }
        self
    }
}

/// What is wrong, and where.
pub(super) struct ErrorDetail {
    /// The steps of the JSON pointer, the innermost first.
    steps: Vec<String>,
    pub line: u64,
    pub message: Message,
    pub suggests_other_crs: bool,
}

impl ErrorDetail {
    pub(super) fn new(line: u64, message: Message) -> Self {
        Self { steps: Vec::new(), line, message, suggests_other_crs: false }
    }

    /// The JSON pointer (RFC 6901).
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.steps.iter().rev() {
            pointer.push('/');
            pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        pointer
    }
}

/// Where a document or a file is being read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u64,
}

impl Place {
    /// An error at this place, after which reading can continue.
    #[cold]
    pub(super) fn invalid(self, message: Message) -> Box<ParseError> {
        Box::new(ParseError::Invalid(ErrorDetail::new(self.line, message)))
    }
}

/// Adds a step to the JSON pointer of an error.
pub(super) trait ErrorPath {
    /// The error occurred in this item of an array.
    fn at_index(self, index: usize) -> Self;
    /// The error occurred in this member of an object.
    fn at_member(self, name: &str) -> Self;
}

impl<T> ErrorPath for ParseResult<T> {
    fn at_index(self, index: usize) -> Self {
        self.map_err(|error| error.at_index(index))
    }

    fn at_member(self, name: &str) -> Self {
        self.map_err(|error| error.at_member(name))
    }
}

impl ErrorPath for Box<ParseError> {
    fn at_index(mut self, index: usize) -> Self {
        if let Some(detail) = self.detail() {
            detail.steps.push(index.to_string());
        }
        self
    }

    fn at_member(mut self, name: &str) -> Self {
        if let Some(detail) = self.detail() {
            detail.steps.push(excerpt(name).into_owned());
        }
        self
    }
}

/// Truncates text from the document so that it can be quoted in a pointer or a message.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    const MAX_CHARACTERS: usize = 100;
    match text.char_indices().nth(MAX_CHARACTERS) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}
