//! Gives the library the real runtime's soname.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcudart.so.13");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
    // The real library's symbols carry the soname as their version, and programs ask for them by it: that keeps two majors in
    // one process apart.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--default-symver");
    // lld knows no such option; the last choice of a linker counts.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rerun-if-changed=build.rs");
}
