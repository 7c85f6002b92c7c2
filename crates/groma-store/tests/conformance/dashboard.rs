//! The figures of the dashboard's charts.

use crate::{
    Fixture,
    fixture::{OWNER, new},
    on_both_engines,
};
use groma_domain::{Kind, PersonId, StatusId, time::Date};
use groma_store::{MonthHours, WORK_LIMIT};
use rust_decimal::Decimal;
use serde_json::{Value, json};

on_both_engines! {
    workload_counts_open_assignments_and_shares_their_hours
    hours_are_summed_by_month_of_the_due_date
    charts_read_a_limited_number_of_assignments
}

const TODAY: Date = Date::constant(2026, 6, 15);

async fn assignment(fixture: &Fixture, values: Value) {
    let mut all = json!({ "folder": "F", "title": "Stake out" });
    all.as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
    fixture.create(Kind::Assignment, all).await;
}

async fn finished(fixture: &Fixture) -> Vec<StatusId> {
    let done = fixture.status(Kind::Assignment, "Done").await;
    vec![done["id"].as_str().unwrap().parse().unwrap()]
}

async fn workload_counts_open_assignments_and_shares_their_hours(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "F", "name": "F" })).await;
    let crew = "crew@office.test";
    for values in [
        json!({ "assignees": [OWNER], "dueDate": "2026-06-14", "estimatedHours": "5", "spentHours": "2" }),
        json!({ "assignees": [OWNER, crew], "dueDate": "2026-06-15", "estimatedHours": "10" }),
        json!({ "assignees": [OWNER] }),
        json!({ "dueDate": "2026-01-01", "estimatedHours": "7.5" }),
        json!({ "assignees": [crew], "status": "Done", "estimatedHours": "99" }),
    ] {
        assignment(&fixture, values).await;
    }
    let finished = finished(&fixture).await;
    let workload = fixture.store.workload(fixture.workspace_id, &finished, TODAY).await.unwrap();
    let people = fixture.store.people(fixture.workspace_id).await.unwrap();
    let name = |id: Option<PersonId>| {
        let known = people.iter().find(|known| Some(known.person.id) == id);
        known.map(|known| known.person.email.as_str().to_owned())
    };
    let rows: Vec<_> = workload
        .people
        .iter()
        .map(|(person, sums)| {
            let hours = |hours: Decimal| hours.normalize().to_string();
            let (estimated, spent) = (hours(sums.estimated_hours), hours(sums.spent_hours));
            (name(*person), sums.open, sums.overdue, estimated, spent)
        })
        .collect();
    assert!(!workload.is_cut);
    assert_eq!(rows[0], (Some(OWNER.to_owned()), 3, 1, "10".to_owned(), "2".to_owned()));
    assert_eq!(rows.len(), 3);
    assert!(rows.contains(&(None, 1, 1, "7.5".to_owned(), "0".to_owned())), "{rows:?}");
    assert!(
        rows.contains(&(Some(crew.to_owned()), 1, 0, "5".to_owned(), "0".to_owned())),
        "{rows:?}"
    );
}

async fn hours_are_summed_by_month_of_the_due_date(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "F", "name": "F" })).await;
    for (due, estimated, spent, status) in [
        ("2026-03-31", "100", "100", "Done"),
        ("2026-04-01", "8", "9.5", "Done"),
        ("2026-04-30", "4", "4", "Done"),
        ("2026-05-02", "3", "1", "To do"),
        ("2026-06-15", "2", "2.25", "Done"),
        ("2026-06-16", "50", "50", "Done"),
    ] {
        let values = json!({ "dueDate": due, "estimatedHours": estimated, "spentHours": spent, "status": status });
        assignment(&fixture, values).await;
    }
    let from = Date::constant(2026, 4, 1);
    let hours = fixture.store.hours_by_due_month(fixture.workspace_id, from, TODAY).await.unwrap();
    let month = |month: i8, estimated: &str, spent: &str| MonthHours {
        month: Date::constant(2026, month, 1),
        estimated: estimated.parse().unwrap(),
        spent: spent.parse().unwrap(),
    };
    assert_eq!(hours, [month(4, "12", "13.5"), month(6, "2", "2.25")]);
}

async fn charts_read_a_limited_number_of_assignments(fixture: Fixture) {
    fixture.create(Kind::Folder, json!({ "reference": "F", "name": "F" })).await;
    let commands = |status: &'static str, due: &'static str, count: u32| {
        (0..count).map(move |_| {
            json!({ "folder": "F", "title": "x", "status": status, "dueDate": due, "spentHours": "1" })
        })
    };
    let all = commands("To do", "2026-06-01", WORK_LIMIT + 1)
        .chain(commands("Done", "2026-05-01", WORK_LIMIT))
        .chain(commands("Done", "2026-06-01", 1));
    for chunk in all.collect::<Vec<_>>().chunks(500) {
        let commands = chunk.iter().cloned().map(|values| new(Kind::Assignment, values));
        fixture.apply(commands.collect()).await.unwrap();
    }
    let finished = finished(&fixture).await;
    let workload = fixture.store.workload(fixture.workspace_id, &finished, TODAY).await.unwrap();
    assert!(workload.is_cut);
    assert_eq!(workload.people[0].1.open, u64::from(WORK_LIMIT));
    let from = Date::constant(2026, 1, 1);
    let hours = fixture.store.hours_by_due_month(fixture.workspace_id, from, TODAY).await.unwrap();
    // May has an assignment too many, so its sum would be wrong.
    assert_eq!(hours.iter().map(|hours| hours.month.month()).collect::<Vec<_>>(), [6]);
}
