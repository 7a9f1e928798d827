//! A new migration is a change of this crate, though none of its sources says so.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
