//! The texts of the pages, from the Fluent files in `locales/`: one file for each language.
//!
//! Handlers and templates carry a [`Localizer`] under the name `t`. `t.msg("folder-new")` is a text,
//! `t.msg("folder-created").arg("reference", reference)` a text with an argument, and `t.html("…")` a
//! text with markup, whose arguments are escaped. The tests below compare the ids used in code and
//! templates with those in `en.ftl`.

use crate::http::escape_html;
use axum::http::{HeaderMap, header};
use fluent_bundle::{FluentArgs, FluentResource, FluentValue, concurrent::FluentBundle};
use fluent_langneg::{NegotiationStrategy, negotiate_languages, parse_accepted_languages};
use fluent_syntax::{ast, serializer};
use groma_geo::MessageValue;
use std::{borrow::Cow, collections::HashMap, fmt, sync::LazyLock};
use unic_langid::LanguageIdentifier;

// `const FILES: &[(&str, &str)]`: the language tag and the text of each file in `locales/`.
include!(concat!(env!("OUT_DIR"), "/locales.rs"));

const DEFAULT_LANGUAGE: &str = "en";

/// The prefix of the messages that translate those of other crates.
const REASON_PREFIX: &str = "reason-";

/// The messages that translate those of other crates, by their English template: that is their text in `en.ftl`.
static REASONS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let english = FILES.iter().find(|(tag, _)| *tag == DEFAULT_LANGUAGE).map_or("", |file| file.1);
    reasons(&FluentResource::try_new(english.to_owned()).unwrap_or_else(|(resource, _)| resource))
});

static LOCALES: LazyLock<Vec<Locale>> =
    LazyLock::new(|| FILES.iter().map(|(tag, text)| Locale::parse(tag, text)).collect());

/// The texts of one language, and how it writes numbers.
struct Locale {
    language: LanguageIdentifier,
    bundle: FluentBundle<FluentResource>,
    group_separator: String,
    decimal_separator: String,
    /// The `script-` messages as Fluent source, without and with those of the map.
    script: String,
    script_with_map: String,
}

impl Locale {
    fn parse(tag: &str, text: &str) -> Self {
        let language: LanguageIdentifier = tag.parse().unwrap_or_default();
        // A test fails on a message with an error, so skipping one here hides nothing.
        let resource =
            FluentResource::try_new(text.to_owned()).unwrap_or_else(|(resource, _errors)| resource);
        let script = script_messages(&resource, |id| !id.starts_with("script-map-"));
        let script_with_map = script_messages(&resource, |_| true);
        let mut bundle = FluentBundle::new_concurrent(vec![language.clone()]);
        bundle.set_use_isolating(false);
        bundle.add_resource_overriding(resource);
        let mut locale = Self {
            language,
            bundle,
            group_separator: String::new(),
            decimal_separator: String::new(),
            script,
            script_with_map,
        };
        locale.group_separator = locale.text("number-group-separator", None).into_owned();
        locale.decimal_separator = locale.text("number-decimal-separator", None).into_owned();
        // Fluent calls a plain function for numbers, so there is one for each separator.
        let formatter = match locale.group_separator.as_str() {
            "." => group_number::<'.', _>,
            "\u{202f}" => group_number::<'\u{202f}', _>,
            "’" => group_number::<'’', _>,
            _ => group_number::<',', _>,
        };
        locale.bundle.set_formatter(Some(formatter));
        locale
    }

    /// The text of a message; its id when there is none.
    fn text<'a>(&'a self, id: &'a str, args: Option<&'a FluentArgs<'_>>) -> Cow<'a, str> {
        let pattern = self.bundle.get_message(id).and_then(|message| message.value());
        match pattern {
            Some(pattern) => self.bundle.format_pattern(pattern, args, &mut Vec::new()),
            None => Cow::Borrowed(id),
        }
    }
}

fn group_number<const SEPARATOR: char, M>(value: &FluentValue<'_>, _: &M) -> Option<String> {
    match value {
        FluentValue::Number(number) => {
            let mut separator = [0; 4];
            let separator = SEPARATOR.encode_utf8(&mut separator);
            Some(group_digits(&number.as_string(), separator))
        }
        _ => None,
    }
}

/// Puts a separator between groups of three digits.
pub(super) fn group_digits(digits: &str, separator: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push_str(separator);
        }
        text.push(digit);
    }
    text
}

/// The ids of the messages that translate those of other crates, by English template.
fn reasons(english: &FluentResource) -> HashMap<String, String> {
    let reason = |entry: &ast::Entry<&str>| match entry {
        ast::Entry::Message(message) if message.id.name.starts_with(REASON_PREFIX) => {
            Some((template(message.value.as_ref()?)?, message.id.name.to_owned()))
        }
        _ => None,
    };
    english.entries().filter_map(reason).collect()
}

/// A text with the names of its arguments in braces; `None` if it has more than texts and arguments.
fn template(pattern: &ast::Pattern<&str>) -> Option<String> {
    let mut template = String::new();
    for element in &pattern.elements {
        match element {
            ast::PatternElement::TextElement { value } => template.push_str(value),
            ast::PatternElement::Placeable {
                expression: ast::Expression::Inline(ast::InlineExpression::VariableReference { id }),
            } => {
                template.push('{');
                template.push_str(id.name);
                template.push('}');
            }
            ast::PatternElement::Placeable { .. } => return None,
        }
    }
    Some(template)
}

/// The messages for the browser's scripts, as Fluent source.
fn script_messages(resource: &FluentResource, is_wanted: impl Fn(&str) -> bool) -> String {
    let is_script = |entry: &&ast::Entry<&str>| match entry {
        ast::Entry::Message(message) => {
            message.id.name.starts_with("script-") && is_wanted(message.id.name)
        }
        _ => false,
    };
    let body = resource.entries().filter(is_script).cloned().collect();
    serializer::serialize(&ast::Resource { body })
}

/// The language that a page is written in.
#[derive(Clone, Copy)]
pub(crate) struct Localizer(&'static Locale);

impl Localizer {
    /// The language that a user chose, or the best one for the browser.
    pub(crate) fn for_user(chosen: Option<&str>, headers: &HeaderMap) -> Self {
        let is_known = |tag: &&str| LOCALES.iter().any(|locale| locale.language == *tag);
        match chosen.filter(is_known) {
            Some(tag) => Self::for_language(tag),
            None => Self::for_request(headers),
        }
    }

    /// The language that a user chose, or else this one.
    pub(crate) fn or_chosen(self, chosen: Option<&str>) -> Self {
        let found = LOCALES.iter().find(|locale| Some(&locale.language.to_string()[..]) == chosen);
        found.map_or(self, Self)
    }

    /// The tags of all languages, and their own names for themselves.
    pub(crate) fn languages() -> impl Iterator<Item = (String, String)> {
        LOCALES.iter().map(|locale| {
            let t = Self(locale);
            (t.lang(), t.msg("language-name").into())
        })
    }

    /// The best language for a browser.
    pub(crate) fn for_request(headers: &HeaderMap) -> Self {
        let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let requested = parse_accepted_languages(accepted.unwrap_or_default());
        let available: Vec<_> = LOCALES.iter().map(|locale| &locale.language).collect();
        let chosen = negotiate_languages(&requested, &available, None, NegotiationStrategy::Lookup);
        let chosen = chosen.first().map(|language| (**language).to_string());
        Self::for_language(chosen.as_deref().unwrap_or(DEFAULT_LANGUAGE))
    }

    /// This language, or English.
    pub(crate) fn for_language(tag: &str) -> Self {
        let is_tag = |locale: &&Locale, tag: &str| locale.language == tag;
        let found = LOCALES.iter().find(|locale| is_tag(locale, tag));
        let default = || LOCALES.iter().find(|locale| is_tag(locale, DEFAULT_LANGUAGE));
        // The build embeds `en.ftl`, so the list is never empty.
        Self(found.or_else(default).unwrap_or(&LOCALES[0]))
    }

    /// The language tag, for `<html lang>`.
    pub(crate) fn lang(self) -> String {
        self.0.language.to_string()
    }

    /// A text. Templates escape it like any other text.
    pub(crate) fn msg(self, id: impl Into<MessageId>) -> Message {
        Message { locale: self.0, id: id.into(), args: Vec::new() }
    }

    /// A message of another crate in this language.
    pub(crate) fn translate(self, message: &groma_geo::Message) -> String {
        // A test fails on a template without a translation.
        let Some(id) = REASONS.get(message.template()) else { return message.to_string() };
        let values = message.values().iter();
        let args = values.map(|(name, value)| {
            let value = match value {
                MessageValue::Text(text) => Value::Text(text.clone()),
                MessageValue::Number(number) => Value::Number(*number),
                MessageValue::Message(inner) => Value::Text(self.translate(inner)),
            };
            (*name, value)
        });
        Message { locale: self.0, id: MessageId(id), args: args.collect() }.into()
    }

    /// A text with markup. Its arguments are escaped.
    pub(crate) fn html(self, id: impl Into<MessageId>) -> HtmlMessage {
        HtmlMessage(self.msg(id))
    }

    /// The messages for the browser's scripts, as Fluent source.
    pub(crate) fn script_messages(self, has_map: bool) -> &'static str {
        if has_map { &self.0.script_with_map } else { &self.0.script }
    }

    pub(super) fn group_separator(self) -> &'static str {
        &self.0.group_separator
    }

    pub(super) fn decimal_separator(self) -> &'static str {
        &self.0.decimal_separator
    }
}

impl fmt::Debug for Localizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Localizer({})", self.0.language)
    }
}

/// The id of a message in `en.ftl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MessageId(&'static str);

/// Names a message where there is no [`Localizer`] yet.
pub(crate) const fn id(id: &'static str) -> MessageId {
    MessageId(id)
}

impl From<&'static str> for MessageId {
    fn from(id: &'static str) -> Self {
        Self(id)
    }
}

/// A message with its arguments, ready to be displayed.
#[derive(Clone)]
pub(crate) struct Message {
    locale: &'static Locale,
    id: MessageId,
    args: Vec<(&'static str, Value)>,
}

impl Message {
    pub(crate) fn arg(mut self, name: &'static str, value: impl Argument) -> Self {
        self.args.push((name, value.to_value()));
        self
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &'_ Value| match value {
            Value::Text(text) => FluentValue::from(text.clone()),
            Value::Number(number) => FluentValue::from(*number),
        };
        let args: FluentArgs<'_> =
            self.args.iter().map(|(name, arg)| (*name, value(arg))).collect();
        f.write_str(&self.locale.text(self.id.0, Some(&args)))
    }
}

impl From<Message> for String {
    fn from(message: Message) -> Self {
        message.to_string()
    }
}

/// A message whose text is HTML.
#[derive(Clone)]
pub(crate) struct HtmlMessage(Message);

impl HtmlMessage {
    pub(crate) fn arg(self, name: &'static str, value: impl Argument) -> Self {
        match value.to_value() {
            Value::Text(text) => self.set(name, Value::Text(escape_html(&text))),
            number => self.set(name, number),
        }
    }

    /// A text as an argument, with a link when there is an address.
    pub(crate) fn link(self, name: &'static str, href: Option<&str>, text: &str) -> Self {
        let text = escape_html(text);
        let html = match href {
            Some(href) => format!("<a href=\"{}\">{text}</a>", escape_html(href)),
            None => text,
        };
        self.set(name, Value::Text(html))
    }

    fn set(mut self, name: &'static str, value: Value) -> Self {
        self.0.args.push((name, value));
        self
    }
}

impl fmt::Display for HtmlMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl askama::filters::HtmlSafe for HtmlMessage {}

/// The value of an argument. Fluent's own type is not `Sync`, which handlers need.
#[derive(Clone)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
}

/// A type that a message can take: a text, or a number to choose a plural form by.
pub(crate) trait Argument {
    fn to_value(&self) -> Value;
}

impl Argument for str {
    fn to_value(&self) -> Value {
        Value::Text(self.to_owned())
    }
}

impl Argument for String {
    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Argument for Message {
    fn to_value(&self) -> Value {
        Value::Text(self.to_string())
    }
}

impl<T: Argument + ?Sized> Argument for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

macro_rules! number_arguments {
    ($($number:ty),*) => {$(
        impl Argument for $number {
            fn to_value(&self) -> Value {
                Value::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}

number_arguments!(u64, usize, u32, i64, i8);

#[cfg(test)]
mod tests;
