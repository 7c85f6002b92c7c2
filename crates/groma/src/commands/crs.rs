//! `groma crs`: shows how a coordinate reference system is transformed to WGS 84.

use super::{CommandError, print};
use groma_geo::{Crs, CrsError, CrsInfo, OperationInfo};
use serde_json::{Value, json};

pub(super) fn run(name: &str, as_json: bool) -> Result<(), CommandError> {
    match Crs::parse(name) {
        Ok(crs) if as_json => print(&to_json(&crs).to_string()),
        Ok(crs) => print_report(&crs),
        Err(CrsError::Unsupported { code, name, reason }) if as_json => print(
            &json!({
                "crs": format!("EPSG:{code}"),
                "name": name,
                "supported": false,
                "reason": reason,
            })
            .to_string(),
        ),
        Err(CrsError::Unsupported { code, name, reason }) => {
            print(format!("system      EPSG:{code} {}", name.unwrap_or_default()).trim_end())?;
            print(&format!("supported   no: {reason}"))
        }
        Err(error @ CrsError::InvalidName(_)) => Err(CommandError::usage(error)),
    }
}

fn print_report(crs: &Crs) -> Result<(), CommandError> {
    let info = crs.info();
    print(&format!("system      {} {}", code(crs), info.name))?;
    print("supported   yes")?;
    print(&format!("area        {}", area(info.area_of_use)))?;
    let axes = if info.is_northing_first { "north, east" } else { "east, north" };
    print(&format!("axis order  {axes} in the EPSG register"))?;
    for operation in by_accuracy(&info) {
        let state = if operation.is_available { "method" } else { "not used" };
        let codes: Vec<_> = operation.codes.iter().map(|code| format!("EPSG:{code}")).collect();
        let method = format!("{} {}", codes.join(" + "), operation.name);
        print(&format!("{state:<12}{}", method.trim_start()))?;
        let accuracy = match operation.accuracy {
            Some(0.0) => "exact".to_owned(),
            Some(metres) => format!("{metres} m"),
            None => "unknown".to_owned(),
        };
        print(&format!("            accuracy {accuracy}, area {}", area(operation.area_of_use)))?;
        for grid in &operation.grids {
            let state = if operation.is_available { "uses" } else { "needs" };
            print(&format!("            {state} {grid}"))?;
        }
    }
    let missing = missing_grids(&info);
    if !missing.is_empty() {
        print(&format!("missing     {} (folder geo.grids)", missing.join(", ")))?;
    }
    Ok(())
}

fn code(crs: &Crs) -> String {
    if crs.is_wgs84() { "EPSG:4326".to_owned() } else { crs.to_string() }
}

/// West, south, east and north.
fn area([west, south, east, north]: [f64; 4]) -> String {
    let degrees = |value: f64, letters: [char; 2]| {
        format!("{}°{}", value.abs(), letters[usize::from(value < 0.0)])
    };
    format!(
        "{} to {}, {} to {}",
        degrees(west, ['E', 'W']),
        degrees(east, ['E', 'W']),
        degrees(south, ['N', 'S']),
        degrees(north, ['N', 'S']),
    )
}

/// The operations, the most accurate ones first.
fn by_accuracy(info: &CrsInfo) -> Vec<&OperationInfo> {
    let mut operations: Vec<_> = info.operations.iter().collect();
    let accuracy = |operation: &OperationInfo| operation.accuracy.unwrap_or(f64::INFINITY);
    operations.sort_by(|a, b| accuracy(a).total_cmp(&accuracy(b)));
    operations
}

fn missing_grids(info: &CrsInfo) -> Vec<&'static str> {
    let missing = info.operations.iter().filter(|operation| !operation.is_available);
    let mut names: Vec<_> = missing.flat_map(|operation| operation.grids.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn to_json(crs: &Crs) -> Value {
    let info = crs.info();
    let operation = |operation: &OperationInfo| {
        json!({
            "codes": operation.codes.iter().map(|code| format!("EPSG:{code}")).collect::<Vec<_>>(),
            "name": operation.name,
            "accuracy": operation.accuracy,
            "areaOfUse": operation.area_of_use,
            "grids": operation.grids,
            "available": operation.is_available,
        })
    };
    json!({
        "crs": code(crs),
        "name": info.name,
        "supported": true,
        "areaOfUse": info.area_of_use,
        "axisOrder": if info.is_northing_first { ["north", "east"] } else { ["east", "north"] },
        "operations": by_accuracy(&info).into_iter().map(operation).collect::<Vec<_>>(),
        "missingGrids": missing_grids(&info),
    })
}
