//! The fields of a form: what was typed, and what is wrong with it, beside it.

use groma_domain::{Problem, Refusal};

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) input: Input,
    pub(crate) value: String,
    pub(crate) hint: String,
    pub(crate) error: Option<String>,
    pub(crate) is_needed: bool,
    pub(crate) class: &'static str,
    /// What browsers may fill in.
    pub(crate) autocomplete: &'static str,
    /// Whether typing begins here.
    pub(crate) is_focused: bool,
}

/// What a field looks like.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Line,
    Long,
    Email,
    Password,
    Day,
    Decimal,
    Color,
    Check,
    /// One of these.
    Choice(Vec<Choice>),
    /// Any of these.
    Many(Vec<Choice>),
    /// A line, with these to pick from.
    Suggest(Vec<Choice>),
    /// Custom fields.
    Pairs(Vec<Pair>),
}

/// One of several.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_on: bool,
}

impl Choice {
    pub(crate) fn new(value: impl Into<String>, label: impl Into<String>, is_on: bool) -> Self {
        Self { value: value.into(), label: label.into(), is_on }
    }
}

/// A custom field: its name, its value, and which type that has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) kind: &'static str,
}

impl Field {
    pub(crate) fn new(name: &'static str, label: &'static str, input: Input) -> Self {
        Self {
            name,
            label,
            input,
            value: String::new(),
            hint: String::new(),
            error: None,
            is_needed: false,
            class: "",
            autocomplete: "off",
            is_focused: false,
        }
    }

    pub(crate) fn line(name: &'static str, label: &'static str) -> Self {
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

    pub(crate) fn needed(mut self) -> Self {
        self.is_needed = true;
        self
    }

    pub(crate) fn class(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    pub(crate) fn autocomplete(mut self, what: &'static str) -> Self {
        self.autocomplete = what;
        self
    }
}

/// Puts what a rule refused beside its fields; what belongs to none of them comes back.
pub(crate) fn tell(fields: &mut [Field], problems: &[Problem]) -> Vec<String> {
    let mut others = Vec::new();
    for problem in problems {
        let mut of_problem = fields.iter_mut().filter(|field| is_of(field.name, &problem.field));
        let sentence = capital(&in_words(&problem.message));
        match of_problem.next() {
            Some(field) if field.error.is_none() => field.error = Some(sentence),
            Some(_) => {}
            None => {
                let message = in_words(&problem.message);
                others.push(format!("{} {message}.", super::history::words(&problem.field)));
            }
        }
    }
    others
}

/// A message with the API's names of fields as people say them: `startDate` is «start date».
fn in_words(message: &str) -> String {
    let said = |word: &str| {
        let begins_small = word.starts_with(|letter: char| letter.is_ascii_lowercase());
        let is_name = begins_small
            && word.chars().all(|letter| letter.is_ascii_alphanumeric())
            && word.contains(|letter: char| letter.is_ascii_uppercase());
        if is_name { super::history::words(word).to_lowercase() } else { word.to_owned() }
    };
    message.split(' ').map(said).collect::<Vec<_>>().join(" ")
}

/// Lets typing begin where something is wrong, else at the first field that needs something.
pub(crate) fn focus(fields: &mut [Field]) {
    let wrong = fields.iter().position(|field| field.error.is_some());
    let empty = || fields.iter().position(|field| field.is_needed && field.value.is_empty());
    if let Some(place) = wrong.or_else(empty) {
        fields[place].is_focused = true;
    }
}

/// A problem of `statusId` stands beside `status`, one of `amount` beside `unitAmount`.
fn is_of(name: &str, problem: &str) -> bool {
    let plain = problem.split('.').next().unwrap_or(problem);
    name == plain
        || name == plain.strip_suffix("Id").unwrap_or(plain)
        || (plain == "amount" && name == "unitAmount")
}

/// The problems of a refusal.
pub(crate) fn problems(refusal: &Refusal) -> Vec<Problem> {
    match refusal {
        Refusal::Invalid(problems) => problems.clone(),
        other => vec![Problem::new("form", other.to_string())],
    }
}

/// A sentence begins with a capital.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}

/// What templates ask.
impl Field {
    pub(crate) fn kind(&self) -> &'static str {
        match self.input {
            Input::Line | Input::Decimal => "text",
            Input::Long => "long",
            Input::Email => "email",
            Input::Password => "password",
            Input::Day => "date",
            Input::Color => "color",
            Input::Check => "check",
            Input::Choice(_) => "choice",
            Input::Many(_) => "many",
            Input::Suggest(_) => "suggest",
            Input::Pairs(_) => "pairs",
        }
    }

    pub(crate) fn is_decimal(&self) -> bool {
        matches!(self.input, Input::Decimal)
    }

    pub(crate) fn choices(&self) -> &[Choice] {
        match &self.input {
            Input::Choice(choices) | Input::Many(choices) | Input::Suggest(choices) => choices,
            _ => &[],
        }
    }

    pub(crate) fn pairs(&self) -> &[Pair] {
        match &self.input {
            Input::Pairs(pairs) => pairs,
            _ => &[],
        }
    }

    /// How many lines of a list to show.
    pub(crate) fn size(&self) -> usize {
        self.choices().len().clamp(2, 6)
    }
}
