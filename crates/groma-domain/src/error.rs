//! Errors of the domain rules.

use crate::{Permission, Role, Scope};
use std::fmt;
use thiserror::Error;

/// Why a command was rejected. The messages contain no internals, so callers may show them to users.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DomainError {
    /// One or more values are invalid.
    #[error("{}", join(.0))]
    Invalid(Vec<FieldError>),
    /// The workspace has no such resource.
    #[error("{resource} `{key}` not found")]
    NotFound {
        /// The kind of resource, for example `folder`.
        resource: &'static str,
        /// The key from the request.
        key: String,
    },
    /// The record has changed since the client read it.
    #[error("{resource} `{key}` has changed: expected version {expected}, found version {current}")]
    Conflict {
        /// The kind of resource, for example `folder`.
        resource: &'static str,
        /// The key from the request.
        key: String,
        /// The version that the client read.
        expected: u64,
        /// The stored version.
        current: u64,
    },
    /// The resource has changed since the client read it.
    #[error("{resource} `{key}` has changed since it was read")]
    PreconditionFailed {
        /// The kind of resource, for example `folder`.
        resource: &'static str,
        /// The key from the request.
        key: String,
    },
    /// Properties of features do not fit the declared fields of their layer.
    #[error("{}", join(.0))]
    InvalidProperties(Vec<PropertyError>),
    /// The layer is locked: its features cannot be changed.
    #[error("layer `{layer}` is locked; unlock it to change its features")]
    Locked {
        /// The slug of the layer.
        layer: String,
    },
    /// The caller's role does not allow the action.
    #[error("this action requires the {required_role} role")]
    Forbidden {
        /// The lowest role that allows the action.
        required_role: Role,
    },
    /// The token lacks a scope. The API contract fixes the wording.
    #[error("Token missing required scope: {0}")]
    MissingScope(Scope),
    /// The token is read-only.
    #[error("Token is read-only")]
    ReadOnlyToken,
    /// The session or token ended, or its owner is no longer a member.
    #[error("Unknown or revoked token")]
    AccessEnded,
    /// The import was cancelled, was interrupted or has ended.
    #[error("the import has ended")]
    ImportEnded,
    /// The member has too many imports that have not ended.
    #[error("too many imports have not ended; start or cancel one of them first")]
    TooManyImports,
    /// The account cannot log in.
    #[error("This account is disabled")]
    AccountDisabled,
}

impl DomainError {
    /// An error about a single field.
    pub fn invalid(field: impl Into<String>, violation: impl Into<Violation>) -> Self {
        Self::Invalid(vec![FieldError::new(field, violation)])
    }
}

impl Role {
    /// Returns an error unless this role includes `permission`.
    pub fn require(self, permission: Permission) -> Result<(), DomainError> {
        if self.can(permission) {
            Ok(())
        } else {
            Err(DomainError::Forbidden { required_role: permission.required_role() })
        }
    }
}

fn join(errors: &[impl ToString]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// An invalid value of one field.
///
/// Displays as the API's field name followed by the violation: `unitAmount is required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's name in the API.
    pub field: String,
    /// What is wrong with its value.
    pub violation: Violation,
}

impl FieldError {
    /// An error about `field`.
    pub fn new(field: impl Into<String>, violation: impl Into<Violation>) -> Self {
        Self { field: field.into(), violation: violation.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.violation)
    }
}

/// A property that does not fit its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyError {
    /// The index of the feature in a FeatureCollection.
    pub feature: Option<usize>,
    /// The name of the property.
    pub property: String,
    /// What is wrong with its value.
    pub violation: Violation,
}

impl PropertyError {
    /// The location of the property in the document, as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        let feature = self.feature.map_or_else(String::new, |index| format!("/features/{index}"));
        format!("{feature}/properties/{}", self.property.replace('~', "~0").replace('/', "~1"))
    }
}

impl fmt::Display for PropertyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pointer(), self.violation)
    }
}

/// Collects the errors of one input, so that the user sees all of them at once.
#[derive(Debug, Default)]
pub struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    /// Adds an error.
    pub fn add(&mut self, field: &str, violation: impl Into<Violation>) {
        self.0.push(FieldError::new(field, violation));
    }

    /// Returns the value, or adds its error.
    pub fn check<T>(&mut self, field: &str, value: Result<T, Violation>) -> Option<T> {
        value.map_err(|violation| self.add(field, violation)).ok()
    }

    /// Whether there are no errors.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors.
    #[must_use]
    pub fn into_vec(self) -> Vec<FieldError> {
        self.0
    }

    /// Adds those errors of a result whose fields have none yet, and returns all.
    pub fn merge<T>(&mut self, result: Result<T, DomainError>) -> Result<T, DomainError> {
        match result {
            Ok(value) if self.0.is_empty() => return Ok(value),
            Ok(_) => {}
            Err(DomainError::Invalid(others)) => self.extend_fields(others),
            Err(other) => return Err(other),
        }
        Err(DomainError::Invalid(std::mem::take(&mut self.0)))
    }

    /// Adds those errors whose fields have none yet.
    pub fn extend_fields(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        for error in errors {
            if !self.0.iter().any(|known| known.field == error.field) {
                self.0.push(error);
            }
        }
    }

    /// Adds errors that name their fields already.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = FieldError>) {
        self.0.extend(errors);
    }

    /// Returns the value if there are no errors.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, DomainError> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(DomainError::Invalid(self.0)),
        }
    }
}

/// Defines [`Violation`] from lines of `Variant { parameters } = "code": "English message"`.
macro_rules! violations {
    ($($name:ident $({ $($param:ident: $type:ty),* })? = $code:literal: $message:literal,)*) => {
        /// Why a value is invalid.
        ///
        /// Displays in English as a predicate, to be put after the name of the field. For another
        /// language, look up [`Violation::code`] and pass [`Violation::params`].
        #[derive(Clone, Debug, Error, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the parameters are documented by the message")]
        pub enum Violation {
            $(#[doc = concat!("`", $message, "`")]
            #[error($message)]
            $name $({ $($param: $type),* })?,)*
            /// A rule of another crate, with its English message.
            #[error("{0}")]
            Other(String),
            /// A rule about geometries, features or files, with a message that can be translated.
            #[error("{0}")]
            Message(groma_geo::Message),
        }

        impl Violation {
            /// A stable identifier, for example `too-long`.
            #[must_use]
            pub fn code(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $code,)*
                    Self::Other(_) | Self::Message(_) => "other",
                }
            }

            /// The parameters of the message with their names.
            #[must_use]
            pub fn params(&self) -> Vec<(&'static str, String)> {
                match self {
                    $(Self::$name $({ $($param),* })? => {
                        vec![$($((stringify!($param), $param.to_string())),*)?]
                    })*
                    Self::Other(message) => vec![("message", message.clone())],
                    Self::Message(message) => vec![("message", message.to_string())],
                }
            }
        }
    };
}

violations! {
    // Any field.
    Required = "required": "is required",
    Empty = "empty": "must not be empty",
    UnknownField = "unknown-field": "is not a known field",
    ReadOnly = "read-only": "cannot be changed",
    NotScalar = "not-scalar": "must be a single value",
    GivenTwice { expected: Box<Violation> } = "given-twice": "{expected} and must be given only once",

    // Text.
    TooShort { min: usize } = "too-short": "must have at least {min} characters",
    TooLong { max: usize } = "too-long": "must have at most {max} characters",
    CommonPassword = "common-password": "is too common; combine several unrelated words, or use a password manager",
    WrongLength { min: usize, max: usize } = "wrong-length": "must have {min} to {max} characters",
    ControlCharacters = "control-characters": "must not contain control characters",
    NotString = "not-string": "must be a string",
    NotOneOf { values: String } = "not-one-of": "must be one of {values}",
    NotEmail = "not-email": "must be an email address, for example name@example.com",
    NotColor = "not-color": "must be a hexadecimal colour, for example #2b6cb0",
    LooksLikeUuid = "looks-like-uuid": "must not look like a UUID",
    CrsFixed = "crs-fixed": "cannot be changed while the layer has features",
    NotSlug = "not-slug": "must contain a letter or a digit, and must not look like a UUID",

    // Numbers and times.
    NotNumber = "not-number": "must be a number, for example 1250.00",
    NotInteger { min: u32, max: u32 } = "not-integer": "must be a whole number from {min} to {max}",
    TooManyDecimals { max: u32 } = "too-many-decimals": "must have at most {max} decimal places",
    TooManyDigits { max: u32 } = "too-many-digits": "must have at most {max} digits before the decimal point",
    Negative = "negative": "must not be negative",
    NotBoolean = "not-boolean": "must be true or false",
    NotDate = "not-date": "must be a date, for example 2026-11-15",
    NotTimestamp = "not-timestamp": "must be a date and time, for example 2026-11-15T04:01:10Z",
    EndBeforeStart { start: String } = "end-before-start": "must not be before {start}",

    // Money.
    NotCurrency = "not-currency": "must be an ISO 4217 currency code, for example EUR",
    WrongDecimals { max: u32, currency: &'static str } = "wrong-decimals": "must have at most {max} decimal places in {currency}",
    NotWholeAmount { currency: &'static str } = "not-whole-amount": "must be a whole number in {currency}",
    NotBudgetCurrency { currency: &'static str } = "not-budget-currency": "must be {currency}, the currency of the budget",

    NotWhole = "not-whole": "must be a whole number",
    OutOfRange { min: &'static str, max: &'static str } = "out-of-range": "must be a number from {min} to {max}",
    NotAscending = "not-ascending": "must be greater than the one before",

    // Fields and styles of layers.
    NotList = "not-list": "must be a list",
    TooManyEntries { max: usize } = "too-many-entries": "must have at most {max} entries",
    NotForBoolean = "not-for-boolean": "must be empty for the type boolean",
    NoFirstRange = "no-first-range": "must be empty for the lowest range only",

    // Links, statuses and people.
    NotKey = "not-key": "must be an ID or a reference",
    NotFound { key: String } = "not-found": "`{key}` does not exist",
    Taken { value: String } = "taken": "`{value}` is already in use",
    AssignmentInUse = "assignment-in-use": "cannot be changed while expenses use this assignment",
    SeveralMatch { value: String } = "several-match": "matches several records with `{value}`",
    NotStatus { name: String, kinds: &'static str } = "not-status": "`{name}` is not a status for {kinds}",
    SameStatus = "same-status": "must be another status",
    DefaultStatus = "default-status": "is required: this status is the default",
    StatusInUse = "status-in-use": "is required: this status is in use",
    NoSuchPerson = "no-such-person": "is not a person of this workspace",
    TooManyMails = "too-many-mails": "has received too many messages: try again in an hour",
    LastOwner = "last-owner": "cannot change: a workspace needs an owner",
    LastLoginMethod = "last-login-method": "cannot be removed: without it, you could no longer log in",
    SecondFactorRequired = "second-factor-required": "cannot be removed: one of your workspaces requires a second factor",
    SecondFactorMissing = "second-factor-missing": "requires that you log in with a second factor yourself",
    IdentityTaken = "identity-taken": "is connected to another account",
    LastOwnerOf { workspaces: String } = "last-owner-of": "is the only owner of {workspaces}: make someone else an owner first",
    IsMember = "is-member": "is a member: remove them from the workspace first",
    AnotherFolder = "another-folder": "belongs to another folder",
    BudgetInUse = "budget-in-use": "cannot be changed while expenses use this budget",
    NotPerson = "not-person": "must be an email address or an ID",
    PersonWithoutKey = "person-without-key": "must have an `email` or an `id`",
    NotPeople = "not-people": "must be a list of people",
    TooManyPeople { max: usize } = "too-many-people": "must have at most {max} people",

    // Tags and custom fields.
    NotTags = "not-tags": "must be a list of strings",
    WrongTag { max: usize } = "wrong-tag": "must contain only tags of 1 to {max} characters",
    TooManyTags { max: usize } = "too-many-tags": "must have at most {max} tags",
    ServiceOwner = "service-owner": "must not be owner: a service account cannot log in",
    TokenTooLong { days: u32 } = "token-too-long": "must be at most {days} days from now",
    TooManyViews { max: usize } = "too-many-views": "cannot be added: a member can save at most {max} views",
    NotObject = "not-object": "must be a JSON object",
    TooManyCustomFields { max: usize } = "too-many-custom-fields": "must have at most {max} entries",
    WrongCustomFieldName { max: usize } = "wrong-custom-field-name": "must have names of 1 to {max} characters",
    WrongCustomFieldType { name: String } = "wrong-custom-field-type": "must have a string, number, boolean or null in `{name}`",
    WrongCustomFieldNumber { name: String, max: usize } = "wrong-custom-field-number": "must have a finite number of at most {max} characters in `{name}`",
    CustomFieldTooLong { name: String, max: usize } = "custom-field-too-long": "must have at most {max} characters in `{name}`",
    CustomFieldControlCharacters { name: String } = "custom-field-control-characters": "must not contain control characters in `{name}`",

    // Webhook endpoints.
    NotUrl { schemes: String } = "not-url": "must be a URL that starts with {schemes}",
    UrlWhitespace = "url-whitespace": "must not contain spaces or control characters",
    UrlWithoutHost = "url-without-host": "must have a host name and a valid port",
    UrlCredentials = "url-credentials": "must not contain credentials",
    UrlFragment = "url-fragment": "must not contain a fragment (`#`)",
    UrlPrivateAddress = "url-private-address": "must not contain a private or local address",
    NotEvents = "not-events": "must be a list of event names",
    NoEvents = "no-events": "must contain at least one event",
    UnknownEvent { name: String } = "unknown-event": "contains the unknown event `{name}`; use names such as folder.created, folder.* or *",
    RepeatedEvent { name: String } = "repeated-event": "contains `{name}` more than once",
    NotId = "not-id": "must be an ID",
    NotBox = "not-box": "must be a list of four numbers in degrees: west, south, east, north",
    EndpointDisabled = "endpoint-disabled": "is disabled; enable it first",
    HttpNotAllowed = "http-not-allowed": "cannot be enabled: the operator does not allow http URLs; change the URL to https first",
    EventErased = "event-erased": "cannot be sent again: personal data was erased from its event",
    NotPrintable = "not-printable": "must contain only printable ASCII characters",
    SurroundingSpace = "surrounding-space": "must not start or end with a space",

    // Base maps.
    HttpNotPrivate = "http-not-private": "must start with https://; http:// is accepted only for your own network",
    MissingPlaceholders { names: String } = "missing-placeholders": "must contain {names}",
    UnknownPlaceholder { name: String } = "unknown-placeholder": "contains the unknown placeholder {name}; replace it by its value",
    KeyWithoutPlaceholder = "key-without-placeholder": "is not used: the URL does not contain {{key}}",
    TooManyHosts { max: usize } = "too-many-hosts": "must have at most {max} servers",
    TooManyBaseMaps { max: usize } = "too-many-base-maps": "cannot be added: a workspace has at most {max} base maps",

    // Tokens.
    NotTokenPrefix = "not-token-prefix": "must be 1 to 16 lowercase letters or digits",
}

impl From<&str> for Violation {
    fn from(message: &str) -> Self {
        Self::Other(message.to_owned())
    }
}

impl From<groma_geo::Message> for Violation {
    fn from(message: groma_geo::Message) -> Self {
        Self::Message(message)
    }
}

impl From<String> for Violation {
    fn from(message: String) -> Self {
        Self::Other(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violation_has_code_params_and_message() {
        let violation = Violation::WrongLength { min: 1, max: 64 };
        assert_eq!(violation.code(), "wrong-length");
        assert_eq!(violation.params(), [("min", "1".to_owned()), ("max", "64".to_owned())]);
        assert_eq!(
            FieldError::new("secret", violation).to_string(),
            "secret must have 1 to 64 characters"
        );
        assert_eq!(Violation::Required.params(), []);
    }

    #[test]
    fn error_lists_every_invalid_field() {
        let error = DomainError::Invalid(vec![
            FieldError::new("title", Violation::Required),
            FieldError::new("folder", Violation::Required),
        ]);
        assert_eq!(error.to_string(), "title is required; folder is required");
    }

    #[test]
    fn pointer_escapes_the_name_of_the_property() {
        let error = PropertyError {
            feature: Some(3),
            property: "a/b~c".to_owned(),
            violation: Violation::Required,
        };
        assert_eq!(error.to_string(), "/features/3/properties/a~1b~0c is required");
    }
}
