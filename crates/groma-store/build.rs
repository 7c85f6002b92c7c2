//! The migrations are part of the program: a new one is a reason to build it anew.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
