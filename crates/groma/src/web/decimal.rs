//! Numbers as users type them (`1,000.00`, `1 000,00`, `1.000,00` or `1’000.00`), and yes or no.

use super::i18n::Localizer;
use serde_json::Number;

impl Localizer {
    /// A decimal for an input: with the language's separator and without groups.
    pub(crate) fn decimal_input(self, text: &str) -> String {
        text.replace('.', self.decimal_separator())
    }

    /// Reads a typed decimal as `1000.00`; `None` if it is not a number. A single separator before exactly
    /// three digits is read as the user's language writes it; everything else is clear in any language.
    pub(crate) fn parse_decimal(self, typed: &str) -> Option<String> {
        let typed: String = typed.chars().filter(|letter| !is_group_space(*letter)).collect();
        let typed = typed.replace('−', "-");
        let (sign, digits) = match typed.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", typed.strip_prefix('+').unwrap_or(&typed)),
        };
        let decimal_at = self.decimal_separator_of(digits)?;
        let (whole, decimals) = match decimal_at {
            Some(at) => (&digits[..at], Some(&digits[at + 1..])),
            None => (digits, None),
        };
        let whole = without_groups(whole)?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let whole = if whole.is_empty() && decimals.is_some() { "0" } else { &whole };
        if !is_number(whole) || !decimals.is_none_or(is_number) {
            return None;
        }
        let decimals = decimals.map(|decimals| format!(".{decimals}")).unwrap_or_default();
        Some(format!("{sign}{whole}{decimals}"))
    }

    /// Reads a number in the user's format, or as JSON writes it: `1e3`.
    pub(crate) fn parse_number(self, typed: &str) -> Option<Number> {
        let decimal = self.parse_decimal(typed);
        serde_json::from_str(decimal.as_deref().unwrap_or(typed)).ok()
    }

    /// Reads yes or no, in the user's language or in English.
    pub(crate) fn parse_boolean(self, typed: &str) -> Option<bool> {
        let typed = typed.to_lowercase();
        let is = |words: [&str; 3], id: &'static str| {
            words.contains(&typed.as_str()) || typed == self.msg(id).to_string()
        };
        match (is(["true", "yes", "1"], "yes"), is(["false", "no", "0"], "no")) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// The position of the decimal separator, if there is one; `None` if the number is malformed.
    #[expect(clippy::option_option, reason = "a number without decimals is not an error")]
    fn decimal_separator_of(self, digits: &str) -> Option<Option<usize>> {
        let Some(last) = digits.rfind(['.', ',']) else { return Some(None) };
        let separator = &digits[last..=last];
        let is_repeated = digits.matches(separator).count() > 1;
        let other = if separator == "." { ',' } else { '.' };
        if is_repeated {
            // Groups only, and no decimals before them.
            return (!digits.contains(other)).then_some(None);
        }
        if digits.contains(other) {
            return Some(Some(last));
        }
        let may_be_group =
            digits.len() - last == 4 && (1..=3).contains(&last) && !digits.starts_with('0');
        let is_group = may_be_group && separator == self.group_separator();
        Some((!is_group).then_some(last))
    }
}

/// A space or an apostrophe between groups of digits.
fn is_group_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\'' | '’')
}

/// The digits without separators; `None` if a group has not three digits.
fn without_groups(whole: &str) -> Option<String> {
    let mut groups = whole.split(['.', ',']);
    let first = groups.next().unwrap_or_default();
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 || first.is_empty() || first.len() > 3 {
            return None;
        }
        digits.push_str(group);
    }
    Some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_language_are_read() {
        let t = Localizer::for_language("en");
        for (typed, read) in [
            ("1000", "1000"),
            ("1000.5", "1000.5"),
            ("1,000.00", "1000.00"),
            ("1 000,00", "1000.00"),
            ("1\u{202f}000,00", "1000.00"),
            ("1.000,00", "1000.00"),
            ("1’000.00", "1000.00"),
            ("1'234'567.8", "1234567.8"),
            ("1,234,567", "1234567"),
            ("1.234.567", "1234567"),
            ("12,50", "12.50"),
            ("0,125", "0.125"),
            ("1234,567", "1234.567"),
            ("-3,5", "-3.5"),
            ("−3.5", "-3.5"),
            (".5", "0.5"),
            ("  7 ", "7"),
        ] {
            assert_eq!(t.parse_decimal(typed).as_deref(), Some(read), "{typed}");
        }
        for typed in
            ["", "-", "a", "1a", "12,", "1,00.0", "1,2,3", "1.2.3,4", "1,234.567,8", "1e3", "1,,0"]
        {
            assert_eq!(t.parse_decimal(typed), None, "{typed}");
        }
    }

    #[test]
    fn one_separator_before_three_digits_depends_on_the_language() {
        let [english, french] = ["en", "fr"].map(Localizer::for_language);
        let both = |typed: &str| [english, french].map(|t| t.parse_decimal(typed).unwrap());
        assert_eq!(both("1,234"), ["1234", "1.234"]);
        assert_eq!(both("1.234"), ["1.234", "1.234"]);
        assert_eq!([english, french].map(|t| t.decimal_input("1.25")), ["1.25", "1,25"]);
    }
}
