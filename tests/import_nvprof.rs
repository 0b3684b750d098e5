//! Logs of nvprof, through the binary to the report's numbers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use std::process::Command;

const SUMMARY: &str = r#"the program says something
==61== NVPROF is profiling process 61, command: ./um
==61== Profiling application: ./um
==61== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:  100.00%  1.63235s         4  408.08ms  40.000us  900.00ms  sgemm(float *)

==61== Unified Memory profiling result:
Device "Tesla V100-PCIE-16GB (0)"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
   74761  56.784KB  4.0000KB  0.9961MB  4.048588GB  565.0188ms  Host To Device
      12  100.00KB  4.0000KB  0.9961MB  1.171875MB  1.000000ms  Device To Host
    6262         -         -         -           -   1.632346s  Gpu page fault groups
Total CPU Page faults: 13739
"#;

const TRACE: &str = r#"==9== NVPROF is profiling process 9, command: ./um
==9== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Unified Memory","Virtual Address","Name"
ms,us,,,,,,,,B,B,MB,GB/s,,,,,,,,
133.811,781.520,,,,,,,,,,4.000000,4.998400,"Pageable","Device","Tesla K40m (0)","1","7",,,"[CUDA memcpy HtoD]"
134.620,780.990,12,1,1,32,1,1,9,0,4,,,,,"Tesla K40m (0)","1","7",,,"add(int *, int) [109]"
287.25,28.320,,,,,,,,,,,,,,"Tesla K40m (0)",,,"9","0x7f5a72017000","[Unified Memory GPU page faults]"
287.30,,,,,,,,,,,,,,,,,,"PC 0x46b98d","0x7f5a72003000","[Unified Memory CPU page faults]"
"#;

fn report(log: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.log");
    std::fs::write(&path, log).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
    let out = command.args(["report", "--format", "json"]).args(more).arg(&path).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn of_a_summary_sums_are_shown() {
    let report = report(SUMMARY, &[]);
    assert_eq!(report["trace"]["format"], "nvprof");
    assert_eq!(report["trace"]["events"], 0, "no event is made up");
    assert_eq!((&report["faults"]["cpu"], &report["faults"]["gpu_groups"]), (&json!(13_739), &json!(6262)));
    let moved = &report["migrations"];
    assert_eq!((&moved["h2d"]["count"], &moved["d2h"]["count"]), (&json!(74_761), &json!(12)));
    assert_eq!(moved["d2h"]["bytes"], 1_228_800);
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("sgemm(float *): 4 times"), "{notes}");
}

#[test]
fn a_trace_has_events() {
    let report = report(TRACE, &[]);
    assert_eq!((&report["faults"]["cpu"], &report["faults"]["gpu_groups"]), (&json!(1), &json!(9)));
    assert_eq!(report["kernels"][0]["launches"], 1);
    assert_eq!(report["copies"][0]["bytes"], 4 << 20);
    assert_eq!(report["migrations"], Value::Null, "none is recorded, which is not zero");
    assert_eq!(report["trace"]["start_unix_ns"], Value::Null, "no clock of the wall");
}
