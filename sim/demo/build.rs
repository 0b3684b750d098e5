//! Links against the stand-in runtime where `UMTUI_SIM_LIB_DIR` says it is: a folder with `libcudart.so.13`, found again at
//! run time by `LD_LIBRARY_PATH` (no rpath, as real programs have none). Without it the program links but cannot run.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=UMTUI_SIM_LIB_DIR");
    match std::env::var("UMTUI_SIM_LIB_DIR") {
        Ok(folder) if !folder.is_empty() => {
            println!("cargo:rerun-if-changed={folder}/libcudart.so.13");
            println!("cargo:rustc-link-arg-bins=-L{folder}");
            println!("cargo:rustc-link-arg-bins=-l:libcudart.so.13");
        }
        _ => println!("cargo:rustc-link-arg-bins=-Wl,--unresolved-symbols=ignore-all"),
    }
}
