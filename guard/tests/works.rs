//! The work that is counted is done. It is a test of its own because `cargo build --test works` chooses
//! the features of all other crates as `cargo test` does, so that scripts/guard finds them built.

use std::process::Command;

#[test]
fn every_path_without_the_program_does_its_work() {
    for name in ["tile", "sign", "geojson"] {
        let done = Command::new(env!("CARGO_BIN_EXE_guard")).args(["work", name, "1"]).status();
        assert!(done.unwrap().success(), "{name}");
    }
}

#[test]
fn work_that_nobody_knows_is_refused() {
    let done = Command::new(env!("CARGO_BIN_EXE_guard")).args(["work", "nothing", "1"]).output();
    assert!(!done.unwrap().status.success());
}
