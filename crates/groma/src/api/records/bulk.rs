//! Many operations in one request: all or nothing, or each on its own.

use super::{
    archive,
    bulk_results::{
        Entry, JSON, NDJSON, all_errors, invalid_operation, operation_error, render, response,
    },
    bulk_stream,
    problems::detail,
    request::{Received, invalid_body, receive, reject_if_match},
    write::Match,
};
use crate::{
    api::{ApiState, params::parse_query},
    clock,
    http::{ErrorDetail, HttpError, ResponseOptions, body},
    idempotency::REPLAYED,
    token_auth::Caller,
};
use axum::{
    Extension,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use groma_domain::{
    DomainError, FieldError, Kind, Scope, Timestamp, Violation,
    input::ParsedInput,
    json::{self, JsonError, pointer_segment},
    record::RecordInput,
    reference::Key,
};
use groma_store::{
    BatchOutcome, Change, Command, Operation, OperationBatch, OperationResult, SaveTarget,
};
use serde_json::{Map, Value};
use std::sync::Arc;

pub(in crate::api) const MAX_OPERATIONS: usize = 1_000;
const MAX_BYTES: u64 = 16 << 20;

/// Create, change, archive and delete up to 1,000 records.
#[utoipa::path(post, path = "/api/public/v1/bulk", tag = "Bulk",
    request_body(content((serde_json::Value = "application/json"), (serde_json::Value = "application/x-ndjson"))),
    responses((status = 200, description = "The result of each operation", body = serde_json::Value)))]
pub(in crate::api) async fn execute_bulk(
    State(api): State<ApiState>,
    Extension(caller): Extension<Caller>,
    options: ResponseOptions,
    request: Request,
) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let is_atomic = parse_atomic(parts.uri.query().unwrap_or_default())?;
    body::require_media_type(&parts.headers, &[JSON, NDJSON])?;
    reject_if_match(&parts.headers)?;
    let is_ndjson = body::require_media_type(&parts.headers, &[NDJSON]).is_ok();
    let now = clock::now();
    let parse = move |bytes: &[u8]| parse_operations(bytes, is_ndjson, now);
    let Received { parsed, idempotent } =
        receive(&api, &caller, &parts, body, MAX_BYTES, parse).await?;
    let parsed = parsed.map_err(invalid_body)?;
    if is_atomic {
        require_scopes(&caller, &parsed)?;
    }
    if is_atomic {
        reject_invalid(&api, &caller, &parsed, now).await?;
    }
    let (operations, entries) = split(parsed);
    let wants_lines = accepts_lines(&parts.headers);
    // The response to a request with a key must be complete before it is kept.
    if !is_atomic && idempotent.is_none() {
        return match wants_lines {
            true => bulk_stream::respond(api, caller, operations, entries, options).await,
            false => {
                let lines = bulk_stream::execute(api, caller, operations, entries).await?;
                Ok(options.compress(response(&lines, false)).await)
            }
        };
    }
    let entries = Arc::new(entries);
    let respond = {
        let entries = entries.clone();
        Arc::new(move |results: &[OperationResult]| render(&entries, results))
    };
    let batch = OperationBatch {
        workspace: caller.token.workspace,
        actor: caller.actor(),
        now,
        operations,
        is_atomic,
        with_documents: false,
        request: idempotent,
        respond,
    };
    let (lines, is_replayed) = match api.store.execute(batch).await? {
        BatchOutcome::Executed { response, .. } => (response, false),
        BatchOutcome::Replayed(response) => (response, true),
        BatchOutcome::Rejected(errors) => return Err(all_errors(&entries, errors)),
    };
    let mut response = response(&lines, wants_lines);
    if is_replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(options.compress(response).await)
}

fn parse_atomic(query: &str) -> Result<bool, HttpError> {
    let [atomic] =
        parse_query(query, ["atomic"]).map_err(|problem| HttpError::bad_parameter(&problem))?;
    match atomic.as_deref() {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(HttpError::bad_parameter(&FieldError::new("atomic", Violation::NotBoolean))),
    }
}

fn accepts_lines(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains(NDJSON))
}

/// An operation that was read.
struct ParsedOperation {
    /// The scope that it needs, if its kind is known.
    scope: Option<Scope>,
    /// The command with its data, as far as they could be read.
    command: Option<(Command, Map<String, Value>)>,
    problems: Vec<ErrorDetail>,
}

impl ParsedOperation {
    fn invalid(problems: Vec<ErrorDetail>) -> Self {
        Self { scope: None, command: None, problems }
    }
}

fn parse_operations(
    bytes: &[u8],
    is_ndjson: bool,
    now: Timestamp,
) -> Result<Vec<ParsedOperation>, Vec<JsonError>> {
    let invalid = |message: String| vec![JsonError { pointer: String::new(), message }];
    let too_many = || invalid(format!("must have at most {MAX_OPERATIONS} operations"));
    if is_ndjson {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let lines: Vec<_> = lines.take(MAX_OPERATIONS + 1).collect();
        if lines.len() > MAX_OPERATIONS {
            return Err(too_many());
        }
        let parse = |line: &[u8]| match json::parse(line) {
            Ok(value) => parse_operation(value, now),
            Err(errors) => ParsedOperation::invalid(errors.into_iter().map(line_problem).collect()),
        };
        return Ok(lines.into_iter().map(parse).collect());
    }
    match json::parse(bytes)? {
        Value::Array(items) if items.len() > MAX_OPERATIONS => Err(too_many()),
        Value::Array(items) => {
            Ok(items.into_iter().map(|item| parse_operation(item, now)).collect())
        }
        _ => Err(invalid("must be a JSON array of operations".to_owned())),
    }
}

fn line_problem(JsonError { pointer, message }: JsonError) -> ErrorDetail {
    ErrorDetail { pointer, message }
}

const OPS: [&str; 6] = ["create", "update", "upsert", "delete", "archive", "unarchive"];
const MEMBERS: [&str; 6] = ["op", "kind", "key", "match", "ifVersion", "data"];

/// Reads the members of an operation and collects their problems.
struct Reader {
    members: Map<String, Value>,
    problems: Vec<ErrorDetail>,
}

impl Reader {
    fn problem(&mut self, member: &str, violation: &Violation) {
        let pointer = format!("/{}", pointer_segment(member));
        self.problems.push(ErrorDetail { pointer, message: violation.to_string() });
    }

    fn one_of<T: Copy>(&mut self, member: &str, names: &[(&str, T)]) -> Option<T> {
        let text = self.members.get(member).and_then(Value::as_str);
        let found = names.iter().find(|(name, _)| Some(*name) == text).map(|(_, value)| *value);
        if found.is_none() {
            let values = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            self.problem(member, &Violation::NotOneOf { values });
        }
        found
    }

    /// The key, which these operations need.
    fn key(&mut self) -> Option<Key> {
        let key = match self.members.get("key") {
            None => Err(Violation::Required),
            Some(value) => value.as_str().and_then(Key::parse).ok_or(Violation::NotKey),
        };
        key.map_err(|violation| self.problem("key", &violation)).ok()
    }

    fn version(&mut self) -> Option<u64> {
        let value = self.members.get("ifVersion")?;
        let version = value.as_u64().filter(|version| *version > 0);
        if version.is_none() {
            self.problem("ifVersion", &Violation::NotInteger { min: 1, max: u32::MAX });
        }
        version
    }

    /// The values of a record, with their problems.
    fn data(&mut self, kind: Option<Kind>, found_by: Option<Match>) -> Option<RecordInput> {
        let Some(Value::Object(data)) = self.members.get("data") else {
            let is_missing = !self.members.contains_key("data");
            let violation = if is_missing { Violation::Required } else { Violation::NotObject };
            self.problem("data", &violation);
            return None;
        };
        let ParsedInput { input, mut errors } = RecordInput::read_json(kind?, data);
        if let Some(found_by) = found_by {
            found_by.require_value(&input, &mut errors);
        }
        for error in errors.into_vec() {
            let ErrorDetail { pointer, message } = detail(error, data);
            self.problems.push(ErrorDetail { pointer: format!("/data{pointer}"), message });
        }
        Some(input)
    }
}

fn parse_operation(value: Value, now: Timestamp) -> ParsedOperation {
    let Value::Object(mut members) = value else {
        let message = Violation::NotObject.to_string();
        let problem = ErrorDetail { pointer: String::new(), message };
        return ParsedOperation::invalid(vec![problem]);
    };
    // Many programs write members without a value as null.
    members.retain(|name, value| !(value.is_null() && MEMBERS.contains(&name.as_str())));
    let mut reader = Reader { members, problems: Vec::new() };
    let op = reader.one_of("op", &OPS.map(|op| (op, op)));
    let kind = match op {
        Some("archive" | "unarchive") => reader.one_of("kind", &Kind::NAMES[..1]),
        _ => reader.one_of("kind", &Kind::NAMES),
    };
    let command = command(&mut reader, op, kind, now);
    let accepted: &[&str] = match op {
        Some("create") => &["data"],
        Some("update") => &["key", "ifVersion", "data"],
        Some("upsert") => &["match", "data"],
        Some(_) => &["key", "ifVersion"],
        None => &MEMBERS,
    };
    let names: Vec<String> = reader.members.keys().cloned().collect();
    for name in names {
        if !MEMBERS.contains(&name.as_str()) {
            reader.problem(&name, &Violation::UnknownField);
        } else if !["op", "kind"].contains(&name.as_str()) && !accepted.contains(&name.as_str()) {
            let op = op.unwrap_or_default();
            reader.problem(&name, &Violation::Other(format!("is not possible with {op}")));
        }
    }
    let data = match reader.members.remove("data") {
        Some(Value::Object(data)) => data,
        _ => Map::new(),
    };
    let command = command.map(|command| (command, data));
    ParsedOperation { scope: kind.map(Scope::write), command, problems: reader.problems }
}

/// The command of an operation; `None` if too little of it could be read.
fn command(
    reader: &mut Reader,
    op: Option<&str>,
    kind: Option<Kind>,
    now: Timestamp,
) -> Option<Command> {
    let save = |target, input| Command::Save { target, draft: Box::new(input) };
    match op? {
        "create" => Some(save(SaveTarget::New, reader.data(kind, None)?)),
        "upsert" => {
            let found_by = reader.one_of("match", &Match::NAMES);
            let input = reader.data(kind, found_by);
            Some(save(found_by?.target(), input?))
        }
        "update" => {
            let (key, version) = (reader.key(), reader.version());
            let input = reader.data(kind, None);
            Some(save(SaveTarget::Existing { key: key?, version }, input?))
        }
        op => {
            let (key, version) = (reader.key(), reader.version());
            Some(match op {
                "archive" => archive::command(key?, version, Some(now)),
                "unarchive" => archive::command(key?, version, None),
                _ => Command::Delete { kind: kind?, key: key?, version },
            })
        }
    }
}

fn split(parsed: Vec<ParsedOperation>) -> (Vec<Operation>, Vec<Entry>) {
    let mut operations = Vec::with_capacity(parsed.len());
    let entries = parsed.into_iter().map(|ParsedOperation { scope, command, problems }| {
        let Some((command, data)) = command.filter(|_| problems.is_empty()) else {
            return Err(problems);
        };
        operations.extend(scope.map(|scope| Operation { command, scope, precondition: None }));
        Ok(data)
    });
    let entries = entries.collect();
    (operations, entries)
}

/// Rejects a request if the token lacks the scope of one of its operations, also of one that is invalid.
fn require_scopes(caller: &Caller, parsed: &[ParsedOperation]) -> Result<(), HttpError> {
    let missing = parsed.iter().enumerate().find_map(|(index, operation)| {
        let scope = operation.scope.filter(|scope| !caller.token.scopes.contains(*scope))?;
        Some((index, DomainError::MissingScope(scope)))
    });
    match missing {
        Some((index, error)) => {
            Err(HttpError::forbidden(error.to_string()).within(&format!("/{index}")))
        }
        None => Ok(()),
    }
}

/// Rejects a request if one of its operations cannot be read. The others are checked too, so that the client learns
/// of all problems at once.
async fn reject_invalid(
    api: &ApiState,
    caller: &Caller,
    parsed: &[ParsedOperation],
    now: Timestamp,
) -> Result<(), HttpError> {
    if parsed.iter().all(|operation| operation.problems.is_empty()) {
        return Ok(());
    }
    let readable = parsed.iter().filter_map(|operation| operation.command.as_ref());
    let commands = readable.map(|(command, _)| command.clone()).collect();
    let (workspace, actor) = (caller.token.workspace, caller.actor());
    let checked = api.store.check(Change { workspace, actor, now, commands }).await?;
    let mut checked = checked.into_iter();
    let errors = parsed.iter().enumerate().filter_map(|(index, operation)| {
        let ParsedOperation { command, problems, .. } = operation;
        let outcome = command.as_ref().and_then(|(_, data)| Some((checked.next()?, data)));
        let found = (!problems.is_empty()).then(|| invalid_operation(index, problems));
        let Some((Err(error @ DomainError::Invalid(_)), data)) = outcome else { return found };
        let more = operation_error(index, error, data);
        Some(match found {
            Some(found) => found.and_new(more),
            None => more,
        })
    });
    errors.reduce(HttpError::and).map_or(Ok(()), Err)
}
