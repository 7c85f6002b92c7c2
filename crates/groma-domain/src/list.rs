//! The parameters of every list: `page`, `limit`, `term`.

use crate::{Problem, text::fold};

/// The largest page number.
pub const MAX_PAGE: u32 = i32::MAX as u32;
/// The largest page size.
pub const MAX_LIMIT: u32 = 100;
/// The page size when none is asked for.
pub const DEFAULT_LIMIT: u32 = 50;
/// The longest term, in characters.
pub const MAX_TERM: usize = 200;

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListParams {
    /// Page number, from 1.
    pub page: u32,
    /// Items per page.
    pub limit: u32,
    /// What the items must contain.
    pub term: Option<Term>,
}

impl Default for ListParams {
    fn default() -> Self {
        Self { page: 1, limit: DEFAULT_LIMIT, term: None }
    }
}

impl ListParams {
    /// Reads decoded query parameters. Unknown names are ignored, a known one given twice is not.
    pub fn parse<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Problem> {
        let (mut page, mut limit, mut term) = (None, None, None);
        for (name, value) in pairs {
            let (slot, bounds) = match name {
                "page" => (&mut page, bounds(MAX_PAGE)),
                "limit" => (&mut limit, bounds(MAX_LIMIT)),
                "term" => (&mut term, term_bounds()),
                _ => continue,
            };
            if slot.replace(value).is_some() {
                return Err(Problem::new(name, format!("{bounds}, and must be given once")));
            }
        }
        Ok(Self {
            page: whole("page", page, MAX_PAGE)?.unwrap_or(1),
            limit: whole("limit", limit, MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT),
            term: term.map(Term::parse).transpose()?.flatten(),
        })
    }

    /// How many items come before this page.
    #[must_use]
    pub fn skip(&self) -> u64 {
        u64::from(self.page - 1) * u64::from(self.limit)
    }
}

fn whole(name: &str, text: Option<&str>, max: u32) -> Result<Option<u32>, Problem> {
    let Some(text) = text else { return Ok(None) };
    // `u32::from_str` alone would let a leading plus through.
    let number =
        if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None };
    match number {
        Some(number) if (1..=max).contains(&number) => Ok(Some(number)),
        _ => Err(Problem::new(name, bounds(max))),
    }
}

fn bounds(max: u32) -> String {
    format!("must be a whole number from 1 to {max}")
}

fn term_bounds() -> String {
    format!("must have at most {MAX_TERM} characters")
}

/// A folded, non-empty search term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term(String);

impl Term {
    /// Reads a term; an empty one, or one that folds away, is none.
    pub fn parse(text: &str) -> Result<Option<Self>, Problem> {
        if text.chars().count() > MAX_TERM {
            return Err(Problem::new("term", term_bounds()));
        }
        let folded = fold(text);
        Ok((!folded.is_empty()).then_some(Self(folded)))
    }

    /// The folded text to look for.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether some text could hold it: no stored text has control characters but line breaks and
    /// tabs.
    #[must_use]
    pub fn can_match(&self) -> bool {
        !self.0.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<ListParams, String> {
        ListParams::parse(query.iter().copied()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn what_is_left_out_has_its_default_and_strangers_are_ignored() {
        assert_eq!(parse(&[("sort", "x"), ("sort", "y")]), Ok(ListParams::default()));
        assert_eq!(parse(&[("term", "")]), Ok(ListParams::default()));
    }

    #[test]
    fn anything_out_of_bounds_names_the_parameter_and_its_bounds() {
        for bad in
            ["0", "-1", "+1", "abc", "", " 1", "1.0", "2147483648", "99999999999999999999", "١"]
        {
            assert_eq!(
                parse(&[("page", bad)]),
                Err("page must be a whole number from 1 to 2147483647".into()),
                "{bad}"
            );
        }
        assert_eq!(
            parse(&[("limit", "101")]),
            Err("limit must be a whole number from 1 to 100".into())
        );
        assert_eq!(
            parse(&[("page", "1"), ("page", "1")]),
            Err("page must be a whole number from 1 to 2147483647, and must be given once".into())
        );
        assert_eq!(
            parse(&[("term", &"é".repeat(201))]),
            Err("term must have at most 200 characters".into())
        );
        assert!(
            parse(&[("term", &"é".repeat(200)), ("page", "2147483647"), ("limit", "100")]).is_ok()
        );
    }
}
