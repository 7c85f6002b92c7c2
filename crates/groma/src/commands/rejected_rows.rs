//! What `groma import` prints about rejected rows and features: the first ones in full, the others by reason, so
//! that a file of a million bad rows does not print a million lines.

use std::collections::HashMap;

/// How many rows, and how many reasons, are printed.
const MAX_ROWS: usize = 20;
const MAX_REASONS: usize = 20;

/// The lines about these rows, each with its number in the file and its message. `place` comes before the number.
pub(super) fn lines(place: &str, rows: impl Iterator<Item = (u64, String)>) -> Vec<String> {
    let mut rows = rows.fuse();
    let first = rows.by_ref().take(MAX_ROWS);
    let mut lines: Vec<_> =
        first.map(|(number, message)| format!("{place}{number}: {message}")).collect();
    let mut by_reason: HashMap<String, u64> = HashMap::new();
    for (_, message) in rows {
        *by_reason.entry(reason(&message)).or_default() += 1;
    }
    let total: u64 = by_reason.values().sum();
    if total == 0 {
        return lines;
    }
    lines.push(format!("{total} more were rejected:"));
    let mut reasons: Vec<_> = by_reason.into_iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let others: u64 = reasons.iter().skip(MAX_REASONS).map(|(_, count)| count).sum();
    let shown = reasons.iter().take(MAX_REASONS);
    lines.extend(shown.map(|(reason, count)| format!("  {count}: {reason}")));
    if others > 0 {
        lines.push(format!("  {others}: other reasons"));
    }
    lines
}

/// A message without what differs from row to row: the values in backticks, and numbers.
fn reason(message: &str) -> String {
    let mut reason = String::new();
    for (index, part) in message.split('`').enumerate() {
        if index % 2 == 1 {
            reason.push_str("`…`");
            continue;
        }
        let mut is_number = false;
        for letter in part.chars() {
            if !letter.is_ascii_digit() {
                reason.push(letter);
            } else if !is_number {
                reason.push('…');
            }
            is_number = letter.is_ascii_digit();
        }
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_after_the_first_are_counted_by_reason() {
        let messages: Vec<_> = (1..=100_u64)
            .map(|line| match line % 4 {
                0 => format!("`F-{line}` is already on line {}", line - 1),
                _ => "name is required".to_owned(),
            })
            .collect();
        let lines = lines("folders.csv:", (1..).zip(messages));
        assert_eq!(lines.len(), 23, "{lines:?}");
        assert_eq!(lines[3], "folders.csv:4: `F-4` is already on line 3");
        assert_eq!(
            lines[20..],
            ["80 more were rejected:", "  60: name is required", "  20: `…` is already on line …",]
        );
    }

    #[test]
    fn reasons_are_limited_too() {
        let messages = (0..50).map(|n| "x".repeat(n));
        let lines = lines("folders.csv:", (1..).zip(messages));
        assert_eq!(lines.len(), MAX_ROWS + 1 + MAX_REASONS + 1);
        assert_eq!(lines.last().unwrap(), "  10: other reasons");
    }

    #[test]
    fn few_rows_are_printed_in_full() {
        assert_eq!(lines("a.csv:", [(2, "bad".to_owned())].into_iter()), ["a.csv:2: bad"]);
        assert!(lines("a.csv:", std::iter::empty()).is_empty());
    }
}
