//! The hash table, which is not in the papers, is linearisable within small bounds.

use mowgli_core::term::bound::Bound;
use mowgli_libraries::catalogue::catalogue;
use mowgli_libraries::table::TABLE;
use mowgli_proofs::{checked, explained};

/// Returns the bounds of a variant at which `check` gives its verdict.
fn bounds(variant: &str) -> Vec<Bound> {
    let all = catalogue();
    let table = all.iter().find(|entry| entry.name == TABLE.text()).expect("it is there");
    table.variant(variant).expect("it is there").bounds.clone()
}

#[test]
fn the_table_is_linearisable() {
    is_sound(bounds("published").last().expect("bounds"));
}

#[test]
#[ignore = "takes ten seconds"]
fn the_table_is_linearisable_with_three_calls() {
    is_sound(&bounds("published")[0]);
}

fn is_sound(bound: &Bound) {
    let report = checked("table", "published", bound);
    assert_eq!(report.verdict(), "sound", "{}", report.bound_text());
}

#[test]
fn broken_tables_forget_or_invent() {
    are_broken(&["no-completion", "no-wait", "take-first"]);
}

#[test]
#[ignore = "takes half a minute"]
fn tables_without_a_lock_or_without_marks_of_what_was_removed_forget_keys() {
    are_broken(&["no-lock", "forget-removed"]);
}

fn are_broken(variants: &[&str]) {
    for variant in variants {
        let report = checked("table", variant, &bounds(variant)[0]);
        assert_eq!(report.verdict(), "unsound", "{variant}");
    }
}

/// Asserts that the second thread finds the key, and never the words of two values.
fn is_found(text: &str, found: &str) {
    let text = format!("{text}exists ({found})\nforbidden (e = (7, 6))");
    assert!(explained(&text, &["table"]).contains("(7, 8)"));
    assert!(explained(&text.replace(&format!("exists ({found})\n"), ""), &["table"]).contains("is impossible"));
}

/// A removal leaves a mark in its bucket while another key is behind it.
#[test]
fn a_lookup_finds_a_key_behind_one_that_is_removed() {
    let text = "RDMA_WAIT removed { nodes 2; table t@1 = (0, 0, 0, 0) size 2; }
 P1@1                     | P2@2             ;
 a := t.insert(0, (5, 6)) | e := t.lookup(2) ;
 b := t.insert(2, (7, 8)) |                  ;
 c := t.delete(0)         |                  ;
";
    is_found(text, "e = (7, 8)");
}

/// When the other key is removed, the mark goes, too.
#[test]
#[ignore = "takes a minute"]
fn a_lookup_finds_a_key_twice_before_it_is_removed() {
    let text = "RDMA_WAIT removed { nodes 2; table t@1 = (0, 0, 0, 0) size 2; }
 P1@1                     | P2@2             ;
 a := t.insert(0, (5, 6)) | e := t.lookup(2) ;
 b := t.insert(2, (7, 8)) | f := t.lookup(2) ;
 c := t.delete(0)         |                  ;
 d := t.delete(2)         |                  ;
";
    is_found(text, "e = (7, 8) /\\ f = (7, 8)");
}
