//! The workloads run. This is a test of its own because `cargo build --test workloads` selects the same
//! features of all crates as `cargo test`, so scripts/instruction-counts finds them built.

use std::process::Command;

fn run(workload: &str) -> bool {
    let status = Command::new(env!("CARGO_BIN_EXE_instruction-counts"))
        .args(["run", workload, "1"])
        .status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn every_workload_runs() {
    for workload in ["tile", "sign", "geojson"] {
        assert!(run(workload), "{workload}");
    }
}

#[test]
fn unknown_workload_is_rejected() {
    assert!(!run("unknown"));
}
