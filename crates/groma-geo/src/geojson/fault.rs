//! What stops the reading of a value, and where. The pointer is put together while a fault travels
//! outwards, step by step, so that reading what is right costs nothing for it.

use std::{borrow::Cow, io};

/// What was read, or why not. Boxed, because it is returned for every number of every position.
pub(super) type Read<T> = Result<T, Box<Fault>>;

/// Why reading stopped.
pub(super) enum Fault {
    /// The text is no JSON from here on: nothing behind it can be trusted.
    Broken(Mark),
    /// The text is JSON but not what belongs here. What follows can be read.
    Wrong(Mark),
    /// Enough was found wrong already.
    Enough,
    /// The one who takes the features wants no more.
    Stopped,
    /// The input failed.
    Input(io::Error),
}

impl Fault {
    fn mark(&mut self) -> Option<&mut Mark> {
        match self {
            Self::Broken(mark) | Self::Wrong(mark) => Some(mark),
            Self::Enough | Self::Stopped | Self::Input(_) => None,
        }
    }

    /// The same, where another reference system would explain it.
    pub(super) fn astray(mut self: Box<Self>) -> Box<Self> {
        if let Some(mark) = self.mark() {
            mark.strays = true;
        }
        self
    }
}

/// A place and what is wrong there.
pub(super) struct Mark {
    /// The way to it, innermost step first.
    steps: Vec<String>,
    pub line: u64,
    pub message: Cow<'static, str>,
    /// Whether another reference system would explain it.
    pub strays: bool,
}

/// The longest piece of someone's text that a pointer or a message repeats.
const EXCERPT: usize = 100;

impl Mark {
    pub(super) fn new(line: u64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { steps: Vec::new(), line, message: message.into(), strays: false }
    }

    /// The way to it as RFC 6901 writes it.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.steps.iter().rev() {
            pointer.push('/');
            pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        }
        pointer
    }
}

/// Adds the step that leads to where a fault came from.
pub(super) trait At {
    /// It came from this item of an array.
    fn at(self, index: usize) -> Self;
    /// It came from this member of an object.
    fn within(self, name: &str) -> Self;
}

impl<T> At for Read<T> {
    fn at(self, index: usize) -> Self {
        self.map_err(|fault| fault.at(index))
    }

    fn within(self, name: &str) -> Self {
        self.map_err(|fault| fault.within(name))
    }
}

impl At for Box<Fault> {
    fn at(mut self, index: usize) -> Self {
        if let Some(mark) = self.mark() {
            mark.steps.push(index.to_string());
        }
        self
    }

    fn within(mut self, name: &str) -> Self {
        if let Some(mark) = self.mark() {
            mark.steps.push(excerpt(name).into_owned());
        }
        self
    }
}

/// Text short enough to be repeated to the one who sent it.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(EXCERPT) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}
