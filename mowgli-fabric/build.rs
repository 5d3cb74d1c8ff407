//! Looks for libfabric, and compiles what calls it. Without its header all else is built, and `run` says so.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(libfabric)");
    println!("cargo:rerun-if-changed=shim/fabric.c");
    let Ok(found) = pkg_config::Config::new().atleast_version("1.17").cargo_metadata(false).probe("libfabric") else {
        return;
    };
    let compiled = cc::Build::new()
        .file("shim/fabric.c")
        .includes(&found.include_paths)
        .warnings(true)
        .try_compile("mowgli_fabric");
    match compiled {
        Ok(()) => {
            for path in &found.link_paths {
                println!("cargo:rustc-link-search=native={}", path.display());
            }
            println!("cargo:rustc-link-lib=dylib=fabric");
            println!("cargo:rustc-cfg=libfabric");
        }
        Err(why) => println!("cargo:warning=libfabric is there, but what calls it does not compile: {why}"),
    }
}
