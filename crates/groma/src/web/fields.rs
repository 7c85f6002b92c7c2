//! The fields of a form, each with its value and its error.

use super::i18n::Localizer;
use groma_domain::{DomainError, FieldError, Violation};

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) label: String,
    pub(crate) input: Input,
    pub(crate) value: String,
    pub(crate) hint: String,
    pub(crate) error: Option<String>,
    pub(crate) is_required: bool,
    pub(crate) class: &'static str,
    /// The `autocomplete` attribute.
    pub(crate) autocomplete: &'static str,
    pub(crate) is_focused: bool,
}

/// The control of a field.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Line,
    TextArea,
    Email,
    Password,
    Date,
    Decimal,
    Color,
    Checkbox,
    /// One of these.
    Select(Vec<Choice>),
    /// Any of these.
    MultiSelect(Vec<Choice>),
    /// A line with suggestions, and where to get others for what is typed.
    Suggest {
        choices: Vec<Choice>,
        source: &'static str,
    },
    CustomFields(Vec<CustomField>),
}

/// An option of a list.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_selected: bool,
}

impl Choice {
    pub(crate) fn new(
        value: impl Into<String>,
        label: impl Into<String>,
        is_selected: bool,
    ) -> Self {
        Self { value: value.into(), label: label.into(), is_selected }
    }
}

/// A custom field; `kind` is the type of its value.
#[derive(Clone, Debug, Default)]
pub(crate) struct CustomField {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) kind: &'static str,
    pub(crate) error: Option<String>,
}

/// Problems of a custom field are about `customFields.NAME`.
pub(crate) const CUSTOM_FIELD: &str = "customFields.";

impl Field {
    pub(crate) fn new(name: &'static str, label: impl Into<String>, input: Input) -> Self {
        Self {
            name,
            label: label.into(),
            input,
            value: String::new(),
            hint: String::new(),
            error: None,
            is_required: false,
            class: "",
            autocomplete: "off",
            is_focused: false,
        }
    }

    pub(crate) fn line(name: &'static str, label: impl Into<String>) -> Self {
        Self::new(name, label, Input::Line)
    }

    pub(crate) fn value(mut self, value: impl Into<String>) -> Self {
        self.value = value.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    pub(crate) fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    pub(crate) fn class(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    pub(crate) fn autocomplete(mut self, value: &'static str) -> Self {
        self.autocomplete = value;
        self
    }
}

/// Puts each problem beside its field and returns those that belong to no field.
pub(crate) fn attach_errors(
    t: Localizer,
    fields: &mut [Field],
    problems: &[FieldError],
) -> Vec<String> {
    let mut others = Vec::new();
    for problem in problems {
        let message = t.violation(&problem.violation);
        if let Some(custom) = fields.iter_mut().find_map(|field| field.custom(&problem.field)) {
            custom.error = Some(capitalize(&message));
            continue;
        }
        match fields.iter_mut().find(|field| is_about(&problem.field, field.name)) {
            Some(field) if field.error.is_none() => field.error = Some(capitalize(&message)),
            Some(_) => {}
            None => others.push(t.problem(problem)),
        }
    }
    others
}

/// A message with readable names instead of the API's field names: `startDate` becomes "start date".
fn with_readable_names(message: &str) -> String {
    let readable = |word: &str| {
        let is_name = word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric())
            && word.contains(|letter: char| letter.is_ascii_uppercase());
        if is_name { split_camel_case(word).to_lowercase() } else { word.to_owned() }
    };
    message.split(' ').map(readable).collect::<Vec<_>>().join(" ")
}

/// Focuses the first field with an error, else the first required field without a value.
pub(crate) fn focus_first(fields: &mut [Field]) {
    let wrong = fields.iter().position(|field| field.error.is_some());
    let empty = || fields.iter().position(|field| field.is_required && field.value.is_empty());
    if let Some(index) = wrong.or_else(empty) {
        fields[index].is_focused = true;
    }
}

/// Whether a problem belongs to a field: `statusId` to `status`, `amount` to `unitAmount`.
fn is_about(problem: &str, field: &str) -> bool {
    let name = problem.split(['.', '/']).next().unwrap_or(problem);
    field == name
        || field == name.strip_suffix("Id").unwrap_or(name)
        || (name == "amount" && field == "unitAmount")
}

/// The problems of a domain error.
pub(crate) fn problems(error: &DomainError) -> Vec<FieldError> {
    match error {
        DomainError::Invalid(problems) => problems.clone(),
        other => vec![FieldError::new("form", other.to_string())],
    }
}

pub(crate) fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

impl Localizer {
    /// A problem as a sentence.
    pub(crate) fn problem(self, problem: &FieldError) -> String {
        format!("{} {}.", self.field_name(&problem.field), self.violation(&problem.violation))
    }

    /// Why a value is invalid, to be shown beside its field.
    pub(crate) fn violation(self, violation: &Violation) -> String {
        if let Violation::Message(message) = violation {
            return self.translate(message);
        }
        let mut message = self.msg("violation").arg("code", violation.code());
        for (name, value) in violation.params() {
            message = message.arg(name, value);
        }
        message.arg("text", with_readable_names(&violation.to_string())).into()
    }

    /// The label of a field of the API: `dueDate` is "Due date".
    pub(crate) fn field_name(self, name: &str) -> String {
        let name = name.strip_suffix("Id").filter(|rest| *rest != "external").unwrap_or(name);
        let unknown = split_camel_case(name);
        self.msg("field-name").arg("field", name).arg("unknown", unknown).into()
    }
}

/// `dueDate` as "Due date".
fn split_camel_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for (index, letter) in name.chars().enumerate() {
        if index == 0 {
            text.extend(letter.to_uppercase());
        } else if letter.is_uppercase() {
            text.push(' ');
            text.extend(letter.to_lowercase());
        } else {
            text.push(letter);
        }
    }
    text
}

impl Field {
    /// The custom field that a problem is about.
    fn custom(&mut self, problem: &str) -> Option<&mut CustomField> {
        let name = problem.strip_prefix(CUSTOM_FIELD)?;
        let Input::CustomFields(customs) = &mut self.input else { return None };
        // Of two with the same name, the second is wrong.
        customs.iter_mut().rev().find(|custom| custom.name == name)
    }

    /// Whether it or one of its parts is invalid.
    pub(crate) fn has_error(&self) -> bool {
        self.error.is_some() || self.custom_fields().iter().any(|custom| custom.error.is_some())
    }
}

/// For templates.
impl Field {
    pub(crate) fn kind(&self) -> &'static str {
        match self.input {
            Input::Line | Input::Decimal => "text",
            Input::TextArea => "textarea",
            Input::Email => "email",
            Input::Password => "password",
            Input::Date => "date",
            Input::Color => "color",
            Input::Checkbox => "checkbox",
            Input::Select(_) => "select",
            Input::MultiSelect(_) => "multiselect",
            Input::Suggest { .. } => "suggest",
            Input::CustomFields(_) => "custom_fields",
        }
    }

    /// Whether the label marks the field as required. A list always has a value.
    pub(crate) fn is_marked(&self) -> bool {
        self.is_required && !matches!(self.input, Input::Select(_))
    }

    pub(crate) fn is_decimal(&self) -> bool {
        matches!(self.input, Input::Decimal)
    }

    pub(crate) fn choices(&self) -> &[Choice] {
        match &self.input {
            Input::Select(choices)
            | Input::MultiSelect(choices)
            | Input::Suggest { choices, .. } => choices,
            _ => &[],
        }
    }

    /// Where suggestions come from.
    pub(crate) fn source(&self) -> &'static str {
        match self.input {
            Input::Suggest { source, .. } => source,
            _ => "",
        }
    }

    /// Whether the suggestions depend on the folder in the same form.
    pub(crate) fn follows_folder(&self) -> bool {
        ["/suggestions/budgets", "/suggestions/assignments"].contains(&self.source())
    }

    pub(crate) fn custom_fields(&self) -> &[CustomField] {
        match &self.input {
            Input::CustomFields(fields) => fields,
            _ => &[],
        }
    }

    /// The number of visible lines of a list.
    pub(crate) fn size(&self) -> usize {
        self.choices().len().clamp(2, 6)
    }
}
