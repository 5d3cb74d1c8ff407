//! The page that `report` writes, as text; `equipped.rs` looks at it in a browser.

use std::process::Command;

#[path = "common/page.rs"]
mod page;
use page::page;

#[test]
fn a_page_needs_nothing_else_and_keeps_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let html = page(folder.path(), &["bal:no-fence"]);
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.len() < 200_000, "{} bytes", html.len());
    let bad = folder.path().join("bad.litmus");
    // A description must not end the element that holds the data.
    std::fs::write(&bad, "RDMA_TSO t\n\"</script><b>\"\n{ x@1 = 0; }\n P1@1 ;\n x := 1 ;\nallowed (x=1)\n").unwrap();
    let html = page(folder.path(), &[&bad.display().to_string()]);
    assert!(!html.contains("</script><b>"));
    std::fs::write(&bad, "RDMA_TSO t { x@1 = 0; }\n P1@1 ;\n y := 1\n").unwrap();
    let out = folder.path().join("mixed").display().to_string();
    let args = ["report", "no-such-library", &bad.display().to_string(), "sv", "--timeout", "1", "--out", &out];
    let ran = Command::new(env!("CARGO_BIN_EXE_mowgli")).args(args).output().unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("no-such-library is neither a file nor a library") && err.contains("bad.litmus"), "{err}");
    assert!(std::fs::read_to_string(folder.path().join("mixed/index.html")).unwrap().contains("\"library\":\"sv\""));
}
