//! Tests with a verdict of each kind, for the commands that solve or run tests.

/// Tests with a verdict of each kind, by the exit code of `litmus`.
pub const KINDS: [(&str, i64, &str, &str); 11] = [
    ("ends-and-does-not", 1, "fails", "f := 0 | put(f, m) ;\n await f = 1 | ;\nends\n"),
    ("stuck-and-silent", 3, "stuck", "f := 0 | put(f, m) ;\n await f = 1 | ;\n a := f | ;\nforbidden (a=0)\n"),
    ("hangs-as-it-says", 0, "holds", "f := 0 | put(f, m) ;\n await f = 1 | ;\nhangs (P1 at line 5)\n"),
    ("hangs-and-does-not", 1, "fails", "await f = 1 | put(f, m) ;\nhangs (P1 at line 4)\n"),
    ("says-nothing", 0, "asserts nothing", "a := f | put(f, m) ;\n"),
    ("never-ends", 3, "vacuous", "poll(2) | put(f, m) ;\nforbidden (f=7)\n"),
    ("false", 1, "fails", "a := f | put(f, m) ;\nforbidden (a=1)\n"),
    ("allows-what-cannot-be", 1, "fails", "a := f | put(f, m) ;\nallowed (a=7)\n"),
    ("never-ends-as-it-says", 0, "holds", "poll(2) | put(f, m) ;\nvacuous\n"),
    (
        "counts-for-ever",
        3,
        "undecided",
        "a := 0 | put(f, m) ;\n while a < 5 { | ;\n a := a + 1 | ;\n f := a | ;\n } | ;\nforbidden (a=99)\n",
    ),
    ("true", 0, "holds", "a := f | put(f, m) ;\nallowed (a=1)\nends\n"),
];

/// Returns the text of a test with these rows.
pub fn text(name: &str, rows: &str) -> String {
    format!("RDMA_TSO {name}\n{{ f@2 = 9; m@1 = 1; }}\n P1@2 | P2@1 ;\n {rows}")
}
