//! Suggests categories or equal ranges from the values that the features of a layer have.

use super::{ClassRow, TypedStyle};
use crate::web::i18n::Localizer;
use groma_domain::{
    FieldError, Layer,
    layer::{FieldCounts, FieldType},
};
use serde_json::Value;
use std::cmp::Reverse;

/// Colours that people with a colour vision deficiency can tell apart, on light and on dark maps: Paul Tol's
/// schemes "bright" and "muted" without their darkest and palest colours.
pub(super) const CATEGORY_COLORS: [&str; 12] = [
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#44aa99", "#999933",
    "#cc6677", "#88ccee", "#aa4499", "#ddcc77",
];
/// From light to dark, so that the order can be seen without colours.
pub(super) const RANGE_COLORS: [&str; 5] = ["#f2c46d", "#ee9a5d", "#e06c5f", "#c04370", "#8f2f7f"];
/// The colour of values in no class.
pub(super) const OTHER_COLOR: &str = "#8a929e";

/// Replaces the categories or the ranges, depending on the mode.
pub(super) fn suggest(
    t: Localizer,
    layer: &Layer,
    typed: &mut TypedStyle,
) -> Result<(), FieldError> {
    let property = typed.values.get("property").to_owned();
    let problem = |message: String| FieldError::new("property", message);
    let counted = layer.fields.iter().find(|field| field.name == property);
    match typed.mode.as_str() {
        "ranges" => {
            let range = counted.and_then(|field| field.range.filter(|_| field.numbers > 0));
            let no_numbers = || problem(t.msg("layer-style-no-numbers").into());
            typed.ranges = equal_ranges(t, range.ok_or_else(no_numbers)?);
        }
        _ => {
            typed.mode = "categories".to_owned();
            let values = declared_choices(layer, &property).or_else(|| counted.and_then(values));
            let no_values = || problem(t.msg("layer-style-no-values").into());
            let values = values.filter(|values| !values.is_empty()).ok_or_else(no_values)?;
            let values = values.into_iter().zip(CATEGORY_COLORS.iter().cycle());
            typed.categories = values.map(|(value, color)| ClassRow::new(value, *color)).collect();
        }
    }
    Ok(())
}

fn declared_choices(layer: &Layer, property: &str) -> Option<Vec<String>> {
    let field = layer.declared_fields.iter().find(|field| field.name == property)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let choices: Vec<_> = field.choices.iter().map(text).take(CATEGORY_COLORS.len()).collect();
    (!choices.is_empty()).then_some(choices)
}

/// The most frequent values, as many as there are colours.
fn values(field: &FieldCounts) -> Option<Vec<String>> {
    if field.field_type() == Some(FieldType::Boolean) {
        return Some(["true", "false"].map(str::to_owned).to_vec());
    }
    let mut values: Vec<_> = field.values.as_ref()?.iter().collect();
    values.sort_by_key(|(_, count)| Reverse(**count));
    values.truncate(CATEGORY_COLORS.len());
    Some(values.into_iter().map(|(value, _)| value.clone()).collect())
}

/// Ranges of the same width, which start at round numbers.
fn equal_ranges(t: Localizer, (min, max): (f64, f64)) -> Vec<ClassRow> {
    let step = (max - min) / RANGE_COLORS.len() as f64;
    let digits = 10_f64.powf(step.log10().floor() - 1.0);
    let start = |index: usize| {
        let exact = min + step * index as f64;
        let round = if step > 0.0 { (exact / digits).round() * digits } else { exact };
        // Dividing and multiplying leaves digits such as 0.30000000000000004.
        format!("{round:.6}").trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let rows = RANGE_COLORS.iter().enumerate().map(|(index, color)| match index {
        0 => ClassRow::new("", *color),
        _ => ClassRow::new(t.decimal_input(&start(index)), *color),
    });
    let mut rows: Vec<_> = rows.collect();
    rows.dedup_by(|one, other| one.value == other.value);
    rows
}
