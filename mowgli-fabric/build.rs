//! Looks for the headers of libfabric, and compiles what calls it. Without them all else is built, and `run` says so. The library itself
//! is loaded when a fabric is asked for.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(libfabric)");
    println!("cargo:rerun-if-changed=shim/fabric.c");
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

/// Builds again as soon as something is installed where libfabric would be found.
fn watch() {
    let asked = std::process::Command::new("pkg-config").args(["--variable", "pc_path", "pkg-config"]).output();
    let folders = asked.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
    for folder in folders.trim().split(':').filter(|folder| std::path::Path::new(folder).is_dir()) {
        println!("cargo:rerun-if-changed={folder}");
    }
}
