//! Operations of requests: all or nothing or each on its own, and repeated requests.

use crate::{
    Fixture,
    fixture::{change, delete, new, text},
    on_both_engines,
    workspaces::row_counts,
};
use groma_domain::{DomainError, Kind, Scope, TokenId, record::RecordInput};
use groma_store::{
    BatchOutcome, Command, IdempotencyKey, IdempotentRequest, Operation, OperationBatch,
    OperationEffect, OperationResult, Precondition, SaveTarget,
};
use serde_json::{Value, json};
use std::sync::Arc;

on_both_engines! {
    rejected_operations_write_nothing
    operations_on_their_own_skip_the_rejected_ones
    upserts_find_records_by_their_latest_external_id
    repeated_request_gets_the_kept_response
    precondition_is_tested_on_the_current_document
}

fn batch(fixture: &Fixture, commands: Vec<Command>) -> OperationBatch {
    let operation = |command| Operation { command, scope: Scope::WriteFolder, precondition: None };
    OperationBatch {
        workspace: fixture.workspace_id,
        actor: fixture.actor,
        now: fixture.tick(),
        operations: commands.into_iter().map(operation).collect(),
        is_atomic: true,
        with_documents: true,
        request: None,
        respond: Arc::new(|results: &[OperationResult]| results.len().to_string().into_bytes()),
    }
}

async fn execute(fixture: &Fixture, batch: OperationBatch) -> BatchOutcome {
    fixture.store.execute(batch).await.unwrap()
}

fn results(outcome: BatchOutcome) -> Vec<OperationResult> {
    match outcome {
        BatchOutcome::Executed { results, .. } => results,
        other => panic!("not executed: {other:?}"),
    }
}

fn effects(results: &[OperationResult]) -> Vec<Option<OperationEffect>> {
    results.iter().map(|result| result.as_ref().ok().map(|outcome| outcome.effect)).collect()
}

fn upsert(external_id: &str, values: Value) -> Command {
    let mut values = values;
    values["externalId"] = external_id.into();
    let draft = RecordInput::read_json(Kind::Folder, values.as_object().unwrap());
    let draft = Box::new(draft.into_result().unwrap());
    Command::Save { target: SaveTarget::ByExternalId, draft }
}

/// Two valid operations around two that fail.
fn mixed() -> Vec<Command> {
    let owner = |email: &str| json!({ "name": "A", "owner": email });
    let mut invalid = owner("second@office.test");
    invalid["startDate"] = "2026-02-01".into();
    invalid["dueDate"] = "2026-01-01".into();
    vec![
        new(Kind::Folder, owner("first@office.test")),
        new(Kind::Folder, invalid),
        change(Kind::Folder, "F-999999", json!({})),
        new(Kind::Folder, json!({ "name": "B" })),
    ]
}

async fn rejected_operations_write_nothing(fixture: Fixture) {
    let before = row_counts(&fixture).await;
    match execute(&fixture, batch(&fixture, mixed())).await {
        BatchOutcome::Rejected(errors) => {
            let indexes: Vec<_> = errors.iter().map(|(index, _)| *index).collect();
            assert_eq!(indexes, [1, 2]);
            assert!(matches!(errors[1].1, DomainError::NotFound { resource: "folder", .. }));
        }
        other => panic!("not rejected: {other:?}"),
    }
    assert_eq!(row_counts(&fixture).await, before);
}

async fn operations_on_their_own_skip_the_rejected_ones(fixture: Fixture) {
    let request = OperationBatch { is_atomic: false, ..batch(&fixture, mixed()) };
    let results = results(execute(&fixture, request).await);
    let created = Some(OperationEffect::Created);
    assert_eq!(effects(&results), [created, None, None, created]);
    let references = results.iter().flatten().map(|outcome| outcome.reference.clone().unwrap());
    let references: Vec<_> = references.map(|reference| reference.to_string()).collect();
    assert_eq!(references, ["F-000001", "F-000002"]);
    let people = fixture.store.people(fixture.workspace_id).await.unwrap();
    let known = |email: &str| people.iter().any(|known| known.person.email.as_str() == email);
    assert!(known("first@office.test") && !known("second@office.test"));
}

async fn upserts_find_records_by_their_latest_external_id(fixture: Fixture) {
    let outcome = execute(
        &fixture,
        batch(
            &fixture,
            vec![upsert("a", json!({ "name": "A" })), upsert("b", json!({ "name": "B" }))],
        ),
    );
    assert_eq!(effects(&results(outcome.await)), [Some(OperationEffect::Created); 2]);
    // The first gets another external id, so the second operation creates a record; the third finds
    // the first, and the deleted one is found no more.
    let outcome = execute(
        &fixture,
        batch(
            &fixture,
            vec![
                change(Kind::Folder, "F-000001", json!({ "externalId": "c" })),
                upsert("a", json!({ "name": "A2" })),
                upsert("c", json!({ "name": "C" })),
                delete(Kind::Folder, "F-000002"),
                upsert("b", json!({ "name": "B2" })),
            ],
        ),
    );
    let results = results(outcome.await);
    let (created, updated) = (OperationEffect::Created, OperationEffect::Updated);
    let expected = [updated, created, updated, OperationEffect::Deleted, created].map(Some);
    assert_eq!(effects(&results), expected);
    let document = |index: usize| -> Value {
        serde_json::from_slice(&results[index].as_ref().unwrap().document).unwrap()
    };
    assert_eq!(text(&document(2), "reference"), "F-000001");
    assert_eq!((&document(0)["name"], &document(0)["version"]), (&json!("C"), &json!(2)));
}

async fn repeated_request_gets_the_kept_response(fixture: Fixture) {
    let token = TokenId::new(fixture.now(), [1; 10]);
    let key = IdempotencyKey { token, path: "/folders".to_owned(), key: "key".to_owned() };
    let request = |hash: u8| {
        let request = IdempotentRequest { key: key.clone(), body_hash: [hash; 16] };
        let commands = vec![new(Kind::Folder, json!({ "name": "A" }))];
        OperationBatch { request: Some(request), ..batch(&fixture, commands) }
    };
    results(execute(&fixture, request(1)).await);
    let before = row_counts(&fixture).await;
    match execute(&fixture, request(1)).await {
        BatchOutcome::Replayed(response) => assert_eq!(response, b"1"),
        other => panic!("not replayed: {other:?}"),
    }
    assert!(fixture.store.execute(request(2)).await.is_err(), "another body");
    assert_eq!(row_counts(&fixture).await, before);
}

async fn precondition_is_tested_on_the_current_document(fixture: Fixture) {
    let owner = json!({ "name": "A", "owner": "first@office.test" });
    let created = results(execute(&fixture, batch(&fixture, vec![new(Kind::Folder, owner)])).await);
    let document = created[0].as_ref().unwrap().document.clone();
    for (expected, is_rejected) in [(b"{}".to_vec(), true), (document, false)] {
        let command = change(Kind::Folder, "F-000001", json!({ "name": "B" }));
        let mut request = batch(&fixture, vec![command]);
        request.operations[0].precondition =
            Some(Precondition::new(move |current| current == expected));
        let outcome = execute(&fixture, request).await;
        assert_eq!(matches!(outcome, BatchOutcome::Rejected(_)), is_rejected, "{outcome:?}");
    }
}
