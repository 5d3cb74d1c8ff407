//! Looks for the headers of libfabric, and compiles the shim that calls it. Without them the build succeeds too, but
//! opening a fabric over libfabric reports the reason. The library itself is loaded when such a fabric is first opened.

use std::path::Path;

#[path = "src/company/sources.rs"]
mod sources;

/// The sources of this crate. Processes of one run have the same.
const SOURCES: [&str; 3] = ["src", "shim", "build.rs"];

fn main() {
    let sources = sources::fingerprint(Path::new("."), &SOURCES).expect("the sources are there");
    println!("cargo:rustc-env=MOWGLI_SOURCES={sources}");
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    println!("cargo:rustc-check-cfg=cfg(libfabric)");
    let Ok(found) = pkg_config::Config::new().atleast_version("1.17").cargo_metadata(false).probe("libfabric") else {
        watch();
        return;
    };
    let compiled = cc::Build::new()
        .file("shim/fabric.c")
        .includes(&found.include_paths)
        .warnings(true)
        .try_compile("mowgli_fabric");
    match compiled {
        Ok(()) => println!("cargo:rustc-cfg=libfabric"),
        Err(why) => println!("cargo:warning=libfabric is there, but what calls it does not compile: {why}"),
    }
}

/// Builds again as soon as something is installed in a folder where pkg-config would find libfabric.
fn watch() {
    let asked = std::process::Command::new("pkg-config").args(["--variable", "pc_path", "pkg-config"]).output();
    let folders = asked.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    for folder in folders.trim().split(':').filter(|folder| Path::new(folder).is_dir()) {
        println!("cargo:rerun-if-changed={folder}");
    }
}
