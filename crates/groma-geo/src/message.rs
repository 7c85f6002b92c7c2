//! Reasons that a person reads: why a file or a geometry is rejected, or looks wrong.

use serde::{Serialize, Serializer};
use std::{borrow::Cow, error::Error, fmt, io};

/// An English template and its values, made by [`message!`](crate::message!).
///
/// It is displayed and serialized as English text. A program that speaks other languages finds its translation
/// of the template, and fills in the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    template: &'static str,
    values: Vec<(&'static str, MessageValue)>,
}

/// A value in a [`Message`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageValue {
    /// A text that is the same in all languages.
    Text(String),
    /// A count, a limit, or the number of a line.
    Number(i64),
    /// A message within the message.
    Message(Message),
}

/// Makes a [`Message`]: `message!("shape {number} has no {part}", number = 3, part = "area")`. The names in
/// the template and those of the values must be the same.
#[macro_export]
macro_rules! message {
    ($template:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        // Never called: it makes the compiler compare the names.
        _ = || _ = ::std::format_args!($template $(, $name = "")*);
        $crate::Message::new(
            $template,
            ::std::vec![$((::std::stringify!($name), ::std::convert::Into::into($value))),*],
        )
    }};
}

impl Message {
    /// Called by [`message!`](crate::message!), which a test searches for templates.
    #[doc(hidden)]
    #[must_use]
    pub fn new(template: &'static str, values: Vec<(&'static str, MessageValue)>) -> Self {
        Self { template, values }
    }

    /// A text of a library or the operating system.
    #[must_use]
    pub fn untranslated(text: impl fmt::Display) -> Self {
        message!("{text}", text = text.to_string())
    }

    /// The English text, with the names of values in braces.
    #[must_use]
    pub fn template(&self) -> &'static str {
        self.template
    }

    /// The values by name.
    #[must_use]
    pub fn values(&self) -> &[(&'static str, MessageValue)] {
        &self.values
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.template;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            f.write_str(before)?;
            if let Some((_, value)) = self.values.iter().find(|(other, _)| *other == name) {
                match value {
                    MessageValue::Text(text) => f.write_str(text)?,
                    MessageValue::Number(number) => number.fmt(f)?,
                    MessageValue::Message(message) => message.fmt(f)?,
                }
            }
            rest = after;
        }
        f.write_str(rest)
    }
}

impl Error for Message {}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A reader can fail with a message of its own.
impl From<&io::Error> for Message {
    fn from(error: &io::Error) -> Self {
        let own = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        own.cloned().unwrap_or_else(|| Self::untranslated(error))
    }
}

impl From<String> for MessageValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for MessageValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Cow<'_, str>> for MessageValue {
    fn from(text: Cow<'_, str>) -> Self {
        Self::Text(text.into_owned())
    }
}

impl From<Message> for MessageValue {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}

macro_rules! number_values {
    ($($number:ty),*) => {$(
        impl From<$number> for MessageValue {
            fn from(number: $number) -> Self {
                Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }
    )*};
}

number_values!(u32, u64, usize, i32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in_by_name() {
        let inner = message!("`{name}` is missing", name = "type");
        let message = message!("line {line}: {problem}, not {line}", line = 1_200, problem = inner);
        assert_eq!(message.to_string(), "line 1200: `type` is missing, not 1200");
        assert_eq!(serde_json::to_value(&message).unwrap(), message.to_string());
        assert_eq!(message!("no values").to_string(), "no values");
        assert_eq!(message!("{a}", a = "{b}").to_string(), "{b}");
    }

    #[test]
    fn message_of_a_reader_is_found_in_its_error() {
        let message = message!("has more than {limit} bytes", limit = 5_u64);
        assert_eq!(Message::from(&io::Error::other(message.clone())), message);
        let other = io::Error::other("disk full");
        assert_eq!(Message::from(&other).to_string(), "disk full");
    }
}
