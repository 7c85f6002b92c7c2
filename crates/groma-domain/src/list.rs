//! The parameters of every list: `page` or `cursor`, `limit`, `term`.

use crate::{FieldError, Violation, text::fold};

/// The largest page number.
pub const MAX_PAGE: u32 = i32::MAX as u32;
/// The largest page size.
pub const MAX_LIMIT: u32 = 100;
/// The default page size.
pub const DEFAULT_LIMIT: u32 = 50;
/// The maximum length of a search term, in characters.
pub const MAX_TERM: usize = 200;

/// The requested page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListParams {
    /// Page number, from 1.
    pub page: u32,
    /// Where the page begins, instead of its number. Empty: at the first item.
    pub cursor: Option<String>,
    /// Items per page.
    pub limit: u32,
    /// Text that the items must contain.
    pub term: Option<SearchTerm>,
}

impl Default for ListParams {
    fn default() -> Self {
        Self { page: 1, cursor: None, limit: DEFAULT_LIMIT, term: None }
    }
}

impl ListParams {
    /// Parses decoded query parameters. Unknown parameters are ignored; repeated ones are rejected.
    pub fn parse<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, FieldError> {
        let (mut page, mut cursor, mut limit, mut term) = (None, None, None, None);
        for (name, value) in pairs {
            let (slot, expected) = match name {
                "page" => (&mut page, integer_bounds(MAX_PAGE)),
                "cursor" => (&mut cursor, Violation::Other(FROM_LINK.to_owned())),
                "limit" => (&mut limit, integer_bounds(MAX_LIMIT)),
                "term" => (&mut term, TERM_BOUNDS),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                let expected = Box::new(expected);
                return Err(FieldError::new(name, Violation::GivenTwice { expected }));
            }
        }
        let number = parse_integer("page", page, MAX_PAGE)?;
        if number.is_some() && cursor.is_some() {
            let message = "cannot be combined with page; leave out one of them".to_owned();
            return Err(FieldError::new("cursor", message));
        }
        Ok(Self {
            page: number.unwrap_or(1),
            cursor: cursor.map(str::to_owned),
            limit: parse_integer("limit", limit, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT),
            term: term.map(SearchTerm::parse).transpose()?.flatten(),
        })
    }

    /// The number of items before this page.
    #[must_use]
    pub fn offset(&self) -> u64 {
        u64::from(self.page - 1) * u64::from(self.limit)
    }
}

fn parse_integer(name: &str, text: Option<&str>, max: u32) -> Result<Option<u32>, FieldError> {
    let Some(text) = text else { return Ok(None) };
    // `u32::from_str` alone would accept a leading plus sign.
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|number| is_digits && (1..=max).contains(number));
    number.map(Some).ok_or_else(|| FieldError::new(name, integer_bounds(max)))
}

const fn integer_bounds(max: u32) -> Violation {
    Violation::NotInteger { min: 1, max }
}

const FROM_LINK: &str = "must be empty or come from the Link header of a page";

const TERM_BOUNDS: Violation = Violation::TooLong { max: MAX_TERM };

/// A folded, non-empty search term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SearchTerm(String);

impl SearchTerm {
    /// Parses a term; `None` if nothing remains after folding.
    pub fn parse(text: &str) -> Result<Option<Self>, FieldError> {
        if text.chars().count() > MAX_TERM {
            return Err(FieldError::new("term", TERM_BOUNDS));
        }
        let folded = fold(text);
        Ok((!folded.is_empty()).then_some(Self(folded)))
    }

    /// The folded text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether any stored text can contain the term. Stored text has no control characters other than
    /// line breaks and tabs.
    #[must_use]
    pub fn can_match(&self) -> bool {
        !self.0.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<ListParams, String> {
        ListParams::parse(query.iter().copied()).map_err(|error| error.to_string())
    }

    #[test]
    fn missing_parameters_have_defaults_and_unknown_ones_are_ignored() {
        assert_eq!(parse(&[("sort", "x"), ("sort", "y")]), Ok(ListParams::default()));
        assert_eq!(parse(&[("term", "")]), Ok(ListParams::default()));
    }

    #[test]
    fn error_names_parameter_and_bounds() {
        for page in
            ["0", "-1", "+1", "abc", "", " 1", "1.0", "2147483648", "99999999999999999999", "١"]
        {
            assert_eq!(
                parse(&[("page", page)]),
                Err("page must be a whole number from 1 to 2147483647".into()),
                "{page}"
            );
        }
        assert_eq!(
            parse(&[("limit", "101")]),
            Err("limit must be a whole number from 1 to 100".into())
        );
        assert_eq!(
            parse(&[("page", "1"), ("page", "1")]),
            Err("page must be a whole number from 1 to 2147483647 and must be given only once"
                .into())
        );
        assert_eq!(
            parse(&[("term", &"é".repeat(201))]),
            Err("term must have at most 200 characters".into())
        );
        assert_eq!(
            parse(&[("cursor", ""), ("cursor", "a")]),
            Err("cursor must be empty or come from the Link header of a page and must be given only once"
                .into())
        );
        assert_eq!(
            parse(&[("page", "1"), ("cursor", "")]),
            Err("cursor cannot be combined with page; leave out one of them".into())
        );
        assert!(
            parse(&[("term", &"é".repeat(200)), ("page", "2147483647"), ("limit", "100")]).is_ok()
        );
    }
}
