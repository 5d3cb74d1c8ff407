//! A browser, for the tests that look at pages.

use std::path::Path;
use std::process::Command;

/// A Chromium; none, with a message, where there is none.
pub fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("the page was not looked at: there is no chromium");
    }
    found
}

/// What a browser makes of the page at `url`; it keeps what it needs in `folder`.
pub fn seen(browser: &str, folder: &Path, url: &str) -> String {
    let data = format!("--user-data-dir={}", folder.join("profile").display());
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"];
    let ran = Command::new(browser).args(flags).args([&data, url]).output().expect("the browser runs");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}
