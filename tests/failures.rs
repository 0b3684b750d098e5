//! First failures on the stand-in: what failed first, which error stays, and which kernel was under way.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::{program, programs, recorded, report, report_text, run};

#[test]
fn a_kernel_that_fails_is_suspected() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let output = run(recorded(&path, &program(programs, "errors", &[])));
    assert!(output.status.success(), "{output:?}");
    let report = report(&[&path]);
    let [first, refused, sticky] = report["first_failures"].as_array().unwrap().as_slice() else {
        panic!("{}", report["first_failures"])
    };
    assert_eq!((&first["function"], &first["status"]), (&"cudaMalloc".into(), &2.into()), "{first}");
    assert_eq!((&first["first"], &first["sticky"], &first["suspects"]), (&true.into(), &false.into(), &().into()));
    assert_eq!((&refused["function"], &refused["first"]), (&"cudaLaunchKernel".into(), &false.into()), "{refused}");
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.contains("0 blocks of 1 threads") && reason.ends_with("is zero"), "{reason}");
    assert_eq!((&sticky["function"], &sticky["status"]), (&"cudaDeviceSynchronize".into(), &700.into()), "{sticky}");
    assert_eq!((&sticky["first"], &sticky["sticky"]), (&false.into(), &true.into()), "{sticky}");
    assert_eq!(sticky["suspects"][0]["kernel"], "fail()", "{sticky}");
    assert!(sticky["suspects"][0]["call_site"].as_str().unwrap().contains("main"), "{sticky}");
    assert_eq!(sticky["suspects"].as_array().unwrap().len(), 1, "{sticky}");
    let text = report_text(&[&path]);
    assert!(text.contains("first lasting failure of ") && text.contains("  under way: fail(), launched at"), "{text}");
    assert!(text.contains("first refused launch of "), "{text}");
    assert!(text.contains("cudaErrorIllegalAddress from cudaDeviceSynchronize at"), "{text}");
}
