//! The patterns of LIKE.

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// `%`
    AnyText,
    /// `_`
    AnyCharacter,
    Character(char),
}

/// A pattern in which `%` is any text and `_` any character; a backslash takes away their meaning.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Vec<Part>);

impl Pattern {
    pub(super) fn new(pattern: &str) -> Self {
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '%' if parts.last() == Some(&Part::AnyText) => continue,
                '%' => Part::AnyText,
                '_' => Part::AnyCharacter,
                '\\' => Part::Character(chars.next().unwrap_or('\\')),
                c => Part::Character(c),
            });
        }
        Self(parts)
    }

    /// The text before the first wildcard, and whether there is a wildcard.
    pub(super) fn prefix(&self) -> (String, bool) {
        let text = self.0.iter().map_while(|part| match part {
            Part::Character(c) => Some(*c),
            _ => None,
        });
        let text: String = text.collect();
        let is_whole = text.chars().count() == self.0.len();
        (text, !is_whole)
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut part) = (0, 0);
        // Where to continue after the last `%`, which takes one more character each time.
        let mut retry: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.0.get(part) {
                Some(Part::AnyText) => {
                    retry = Some((at, part + 1));
                    part += 1;
                }
                Some(Part::AnyCharacter) => (at, part) = (at + 1, part + 1),
                Some(Part::Character(c)) if *c == text[at] => (at, part) = (at + 1, part + 1),
                _ => {
                    let Some((from, after)) = retry else { return false };
                    retry = Some((from + 1, after));
                    (at, part) = (from + 1, after);
                }
            }
        }
        self.0[part..].iter().all(|part| *part == Part::AnyText)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_texts_and_characters() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("", "a", false),
            ("%", "", true),
            ("a%", "abc", true),
            ("%c", "abc", true),
            ("%b%", "abc", true),
            ("a_c", "abc", true),
            ("a_", "a", false),
            ("_", "é", true),
            ("a\\%", "a%", true),
            ("a\\%", "ab", false),
            ("%ab%ab%", "abxab", true),
            ("%ab%ab%", "abab", true),
            ("%ab%ab", "ababa", false),
            ("A%", "abc", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn many_wildcards_take_little_time() {
        let pattern = Pattern::new(&"%a".repeat(1_000));
        assert!(!pattern.matches(&"b".repeat(100_000)));
        assert!(!pattern.matches(&"a".repeat(999)));
    }
}
