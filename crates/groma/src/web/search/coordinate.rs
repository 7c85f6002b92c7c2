//! Coordinates as people type them: `47.15, 5.95` or `48°51'24" N 2°21'3" E`.

/// A position in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Coordinate {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

impl Coordinate {
    /// Reads latitude and longitude, in this order unless letters say otherwise.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.to_uppercase();
        let has_letters = text.contains(['N', 'S']) && text.contains(['E', 'W', 'O']);
        let (first, second) = match has_letters {
            true => split_at_letter(&text)?,
            false => split_at_comma(&text)?,
        };
        let (first, second) = (Angle::parse(first)?, Angle::parse(second)?);
        let is_swapped = first.is_longitude == Some(true) || second.is_longitude == Some(false);
        let (latitude, longitude) = if is_swapped { (second, first) } else { (first, second) };
        let is_inside = latitude.degrees.abs() <= 90.0 && longitude.degrees.abs() <= 180.0;
        let found = Self { latitude: latitude.degrees, longitude: longitude.degrees };
        is_inside.then_some(found)
    }
}

struct Angle {
    degrees: f64,
    /// `None` without a letter.
    is_longitude: Option<bool>,
}

impl Angle {
    /// Reads degrees, and minutes and seconds if there are any.
    fn parse(text: &str) -> Option<Self> {
        let letter = text.chars().find(char::is_ascii_alphabetic);
        let is_sign = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-');
        let other = |letter: char| !is_sign(letter);
        let parts = text.split(other).filter(|part| !part.is_empty());
        let parts: Option<Vec<f64>> = parts.map(|part| part.parse().ok()).collect();
        let parts = parts.filter(|parts| (1..=3).contains(&parts.len()))?;
        let [degrees, minutes, seconds] =
            [0, 1, 2].map(|index| parts.get(index).copied().unwrap_or(0.0));
        let is_known = |letter: &char| "NSEWO".contains(*letter);
        if parts[1..].iter().any(|part| !(0.0..60.0).contains(part)) || !letter.iter().all(is_known)
        {
            return None;
        }
        let size = degrees.abs() + minutes / 60.0 + seconds / 3_600.0;
        let is_negative =
            degrees.is_sign_negative() != letter.is_some_and(|letter| "SWO".contains(letter));
        Some(Self {
            degrees: if is_negative { -size } else { size },
            is_longitude: letter.map(|letter| "EWO".contains(letter)),
        })
    }
}

/// Splits after the letter of the first angle, or before that of the second.
fn split_at_letter(text: &str) -> Option<(&str, &str)> {
    let mut letters = text.match_indices(|letter: char| letter.is_ascii_alphabetic());
    let ((first, _), (second, _)) = (letters.next()?, letters.next()?);
    let starts_with_letter = text.trim_start().starts_with(|letter: char| letter.is_alphabetic());
    Some(text.split_at(if starts_with_letter { second } else { first + 1 }))
}

/// Splits two decimals at a comma, a semicolon or a space. With decimal commas, a space is needed.
fn split_at_comma(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let parts = text.split_once(';').or_else(|| text.split_once(", "));
    parts.or_else(|| text.split_once(' ')).or_else(|| text.split_once(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_read_in_several_forms() {
        let read = |text| {
            let Coordinate { latitude, longitude } = Coordinate::parse(text)?;
            Some([latitude, longitude].map(|value| (value * 1e4).round() / 1e4))
        };
        for text in [
            "48.8567, 2.3508",
            "48.8567 2.3508",
            "48.8567;2.3508",
            "48.8567,2.3508",
            "48.8567 N 2.3508 E",
            "N 48.8567 E 2.3508",
            "2.3508° E, 48.8567° N",
            "48°51'24.12\" N 2°21'2.88\" E",
            "48° 51.402' N, 2° 21.048' E",
        ] {
            assert_eq!(read(text), Some([48.8567, 2.3508]), "{text}");
        }
        assert_eq!(read("33°52'S 151°12'E"), Some([-33.8667, 151.2]));
        assert_eq!(read("-33.5, -70.25"), Some([-33.5, -70.25]));
        assert_eq!(read("40.5 N 3.25 O"), Some([40.5, -3.25]));
        for text in
            ["", "chene", "12", "F-000123", "91, 2", "48°61' N 2° E", "10 11 12 13 14", "1, x"]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
