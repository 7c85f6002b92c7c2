//! `groma layer check`: problems of the features of a layer, and their repair.

use crate::{
    cli::CheckLayer,
    clock,
    commands::{CommandError, print, print_table},
    layer_check::{CheckedLayer, check_layer},
};
use groma_domain::{WorkspaceId, layer::LayerKey};
use groma_geo::layer_check::Problem;
use groma_store::{Actor, LayerRepair, Store};
use serde_json::{Value, json};

/// The most problems of each kind in the table.
const MAX_ROWS: usize = 20;
/// The most problems of each kind as JSON.
const MAX_JSON: usize = 1_000;

pub(super) async fn run(
    store: &Store,
    workspace: WorkspaceId,
    command: CheckLayer,
) -> Result<(), CommandError> {
    let CheckLayer { key, tolerance, json, repair, .. } = command;
    let key = LayerKey::parse(&key);
    if repair {
        let repair = LayerRepair {
            workspace,
            actor: Actor::Operator,
            layer: key.clone(),
            tolerance,
            is_dry_run: false,
            now: clock::now(),
        };
        let outcome = store.repair_layer(repair).await?;
        if !json {
            let (repaired, deleted) = (outcome.repaired, outcome.deleted);
            print(&format!("Repaired: {repaired}\nCopies deleted: {deleted}"))?;
        }
    }
    let max_listed = if json { MAX_JSON } else { MAX_ROWS };
    let checked = check_layer(store, workspace, &key, tolerance, max_listed).await;
    let checked = checked.map_err(CommandError::new)?;
    if json {
        let problems = checked.report.problems.iter();
        let documents: Vec<Value> = problems.map(|problem| document(&checked, problem)).collect();
        return print(&Value::Array(documents).to_string());
    }
    print_report(&checked)
}

fn document(checked: &CheckedLayer, problem: &Problem) -> Value {
    let features = checked.names(&problem.features);
    let features: Vec<Value> =
        features.map(|name| json!({ "id": name.id, "externalId": name.external_id })).collect();
    json!({
        "layerId": checked.layer.id,
        "problem": problem.kind.name(),
        "features": features,
        "coordinates": problem.position,
        "area": problem.area.map(|area| (area * 1e3).round() / 1e3),
        "isRepairable": problem.kind.is_repairable(),
    })
}

fn print_report(checked: &CheckedLayer) -> Result<(), CommandError> {
    let report = &checked.report;
    print(&format!("Features checked: {}", report.features))?;
    if report.counts.is_empty() {
        print("No problems found.")?;
    } else {
        let row = |(kind, count): &(groma_geo::ProblemKind, u64)| {
            vec![kind.name().to_owned(), count.to_string()]
        };
        print_table(&["PROBLEM", "COUNT"], &report.counts.iter().map(row).collect::<Vec<_>>())?;
        let rows: Vec<_> =
            report.problems.iter().map(|problem| table_row(checked, problem)).collect();
        print("")?;
        print_table(&["PROBLEM", "FEATURES", "COORDINATES", "AREA"], &rows)?;
    }
    if !report.is_complete {
        print(
            "Some shapes overlap or cross too often to be compared. Some overlaps and gaps may be \
             missing from this list.",
        )?;
    }
    Ok(())
}

fn table_row(checked: &CheckedLayer, problem: &Problem) -> Vec<String> {
    let name = |name: &crate::layer_check::FeatureName| {
        name.external_id.clone().unwrap_or_else(|| name.id.to_string())
    };
    let features: Vec<String> = checked.names(&problem.features).map(name).collect();
    let place = problem
        .position
        .map_or_else(String::new, |[longitude, latitude]| format!("{longitude:.7},{latitude:.7}"));
    let area = problem.area.map_or_else(String::new, |area| format!("{area:.2} m²"));
    vec![problem.kind.name().to_owned(), features.join(" "), place, area]
}
