//! The theorems, each in a file of its own, as one program, so that the generic parts of the search are compiled once
//! for them.

mod accepted;
mod common;
mod counterexamples;
mod loco_theorem_3_15_sv;
mod loco_theorem_4_2_bal;
mod loco_theorem_5_3_rbl;
mod loco_x_theorem_h_3_msw;
mod loco_x_theorem_i_3_kvstore;
mod progress;
mod sync_section_5_sequential_objects;
mod sync_theorem_4_sc_rmw;
mod sync_theorems_1_to_3_locks;
mod table;
mod thorough;

/// A file that is no module would not be run.
#[test]
fn every_file_is_a_module() {
    let own = include_str!("theorems.rs");
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).expect("the folder of the tests") {
        let path = file.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        if path.extension().is_some_and(|end| end == "rs") && name != "theorems" {
            assert!(own.contains(&format!("mod {name};")), "add `mod {name};` to proofs/tests/theorems.rs");
        }
    }
}
