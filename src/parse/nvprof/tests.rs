use super::{import, is_mark};
use crate::parse::imported::Imported;
use crate::parse::testing::{load, one_line, target};
use crate::trace::activity::Told;
use crate::trace::{ActivityKind, LaneOf, Trace};
use proptest::prelude::*;
use umtui_wire::activity as wire;

const GPU_TRACE: &str = r#"result of the program: 12
==27694== NVPROF is profiling process 27694, command: ./vectorAdd --size 12
==27694== Warning: Unified Memory Profiling is not supported on this configuration
==27694== Profiling application: ./vectorAdd --size 12
==27694== Profiling result:
   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput  SrcMemType  DstMemType           Device   Context    Stream          Unified Memory  Virtual Address  Name
133.81ms  781.52us                    -               -         -         -         -  4.0000MB  4.9984GB/s    Pageable      Device   Tesla K40m (0)         1         7                       -                -  [CUDA memcpy HtoD]
134.62ms  780.99us             (12 1 1)        (32 1 1)         9        0B        4B         -           -           -           -   Tesla K40m (0)         1         7                       -                -  add(int *, int) [109]
a line of the program  in the  middle
287.25ms  28.320us                    -               -         -         -         -         -           -           -           -   Tesla K40m (0)         -         -                       9   0x7f5a72017000  [Unified Memory GPU page faults]
287.30ms         -                    -               -         -         -         -         -           -           -           -                -         -         -             PC 0x46b98d   0x7f5a72003000  [Unified Memory CPU page faults]
288.00ms  2.0000us                    -               -         -         -         -         -           -           -           -   Tesla K40m (0)         -         -             64.000000KB   0x7f5a72003000  [Unified Memory Memcpy HtoD]

Regs: Number of registers used per CUDA thread. This number includes registers used internally.
"#;

const CSV: &str = r#"==5== NVPROF is profiling process 5, command: ./a
==5== Profiling result:
"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Name","Correlation_ID"
s,ms,,,,,,,,B,B,MB,GB/s,,,,,,,
0.133811,0.781520,,,,,,,,,,4.000000,4.998400,"Pageable","Device","Tesla K40m (0)","1","7","[CUDA memcpy HtoD]",108
0.134620,0.780990,12,1,1,32,1,1,9,0,4,,,,,"Tesla K40m (0)","1","7","add(int *, int)",109
"#;

const API: &str = r#"==9== Profiling result:
   Start  Duration  Name
108.38ms  6.2130us  cuDeviceGetAttribute
108.60ms  1.0000ms  cudaMalloc
109.90ms  10.000us  cudaLaunchKernel (add(int *, int) [109])
"#;

const SUMMARY: &str = r#"==61== Profiling application: ./um
==61== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   98.31%  1.632346s         4  408.08ms  40.000us  900.00ms  sgemm(float *)
                    1.69%  28.000ms         2  14.000ms  4.0000ms  24.000ms  [CUDA memcpy HtoD]
      API calls:   90.00%  2.0000s         7  285.71ms  1.0000us  1.0000s  cudaDeviceSynchronize

==61== Unified Memory profiling result:
Device "Tesla V100-PCIE-16GB (0)"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
   74761  56.784KB  4.0000KB  0.9961MB  4.048588GB  565.0188ms  Host To Device
      12  100.00KB  4.0000KB  0.9961MB  1.171875MB  1.000000ms  Device To Host
    6262         -         -         -           -   1.632346s  Gpu page fault groups
Total CPU Page faults: 13739
"#;

fn read(text: &str) -> Imported {
    import(text.as_bytes(), "a.log", target("nvprof")).unwrap()
}

fn activities(trace: &Trace) -> Vec<(ActivityKind, u64, u64, u64)> {
    let mut list = Vec::new();
    for lane in trace.activities.lanes() {
        lane.for_each(0, |_, one| list.push((one.kind, one.start_ns, one.duration_ns, one.value)));
    }
    list.sort_by_key(|one| one.1);
    list
}

#[test]
fn a_gpu_trace_of_text() {
    let imported = read(GPU_TRACE);
    let (trace, _) = load(&imported);
    assert_eq!((trace.processes[0].pid, trace.names.get(trace.processes[0].program)), (27694, "./vectorAdd"));
    let all = activities(&trace);
    let kinds: Vec<ActivityKind> = all.iter().map(|one| one.0).collect();
    let unified = ActivityKind::Unified;
    assert_eq!(kinds, [ActivityKind::Copy, ActivityKind::Kernel, unified, unified, unified]);
    assert_eq!((all[0].1, all[0].2, all[0].3), (133_810_000, 781_520, 4 << 20));
    assert_eq!((all[2].3, all[2].2, all[4].3), (9, 28_320, 65_536));
    let streams: Vec<_> =
        trace.activities.lanes().iter().filter(|lane| matches!(lane.of, LaneOf::Stream { .. })).collect();
    assert_eq!(streams.len(), 1, "what unified memory did is on no stream");
    assert!(imported.notes.iter().any(|note| note.contains("nvprof says: Warning")), "{:?}", imported.notes);
    assert!(imported.lost.is_empty(), "{:?}", imported.lost);
}

#[test]
fn csv_says_the_same() {
    let (text, _) = load(&read(GPU_TRACE));
    let (csv, _) = load(&read(CSV));
    let (text, csv) = (activities(&text), activities(&csv));
    assert_eq!(csv.len(), 2);
    assert_eq!((csv[0].2, csv[0].3, csv[1].2), (text[0].2, text[0].3, text[1].2));
    assert_eq!(csv[0].1, 133_811_000);
}

/// As nvprof writes it: what is moved in a unit of the column, faults among it, and both devices of a move between two,
/// for which there is one column.
#[test]
fn unified_memory_in_csv() {
    let text = r#"==5== Profiling result:
"Start","Duration","Device","Context","Stream","Unified Memory","Virtual Address","Name","Correlation_ID"
ms,us,,,,KB,,,
287.250000,28.320000,"Tesla P100 (1)",,,"9","0x7f5a72017000","[Unified Memory GPU page faults]",
287.300000,,,,,"PC 0x46b98d","0x7f5a72003000","[Unified Memory CPU page faults]",
288.000000,2.000000,"Tesla P100 (0)",,,"64.000000","0x7f5a72003000","[Unified Memory Memcpy HtoD]",
289.000000,2.000000,"Tesla P100 (0)","Tesla P100 (1)",,,"2048.000000","0x7f5a72003000","[Unified Memory Memcpy DtoD]",
"#;
    let imported = read(text);
    let (trace, _) = load(&imported);
    let values: Vec<u64> = activities(&trace).iter().map(|one| one.3).collect();
    assert_eq!((values.len(), values[0], values[2], values[3]), (4, 9, 65_536, 2 << 20));
    assert!(!imported.notes.iter().any(|note| note.contains("other lines")), "{:?}", imported.notes);
}

#[test]
fn lines_of_no_process_are_of_nvprof_too() {
    let text = SUMMARY.replace("==61== ", "======== ").replace("Total CPU", "======== Total CPU");
    let imported = read(&format!("{text}======== Warning: 18 records were dropped\n"));
    let (trace, _) = load(&imported);
    let told = &trace.activities.of(crate::trace::ProcessId(0)).unwrap().told;
    assert!(told.iter().any(|told| (told.what, told.count) == (wire::UNIFIED_CPU_FAULT, 13_739)), "{told:?}");
    assert!(imported.notes.iter().any(|note| note.contains("18 records were dropped")), "{:?}", imported.notes);
    assert_eq!(imported.lost.len(), 1);
}

#[test]
fn a_heading_that_is_not_known_ends_the_table_before() {
    let text = format!(
        "{API}==9== Dependency Analysis:\nCritical path(%)  Critical path  Waiting time  Name\n1.00ms  2.0000ms  cudaFree\n"
    );
    let (trace, _) = load(&read(&text));
    assert_eq!(trace.events(), 3);
}

#[test]
fn an_api_trace() {
    let (trace, _) = load(&read(API));
    assert_eq!(trace.events(), 3);
    let names: Vec<&str> = (0..3).map(|api| trace.api_name(crate::trace::ApiId(api))).collect();
    for name in ["cuDeviceGetAttribute", "cudaMalloc", "cudaLaunchKernel"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(trace.end_ns() - trace.start_ns(), 1_530_000);
}

#[test]
fn of_a_summary_there_are_sums_and_no_events() {
    let imported = read(SUMMARY);
    let (trace, _) = load(&imported);
    assert_eq!((trace.events(), activities(&trace).len()), (0, 0));
    let told = &trace.activities.of(crate::trace::ProcessId(0)).unwrap().told;
    let counts: Vec<(u16, u64)> = told.iter().map(|told| (told.what, told.count)).collect();
    assert_eq!(
        counts,
        [
            (wire::UNIFIED_TO_DEVICE, 74_761),
            (wire::UNIFIED_TO_HOST, 12),
            (wire::UNIFIED_GPU_FAULT, 6262),
            (wire::UNIFIED_CPU_FAULT, 13_739)
        ]
    );
    let host = Told { what: wire::UNIFIED_TO_HOST, device: 0, count: 12, bytes: 1_228_800, total_ns: 1_000_000 };
    assert_eq!(told[1], host);
    assert!(imported.notes.iter().any(|note| note == "sgemm(float *): 4 times, 1632346000 ns"), "{:?}", imported.notes);
}

#[test]
fn lines_of_nvprof_are_known() {
    assert!(is_mark("==5== NVPROF is profiling process 5, command: ./a"));
    assert!(is_mark("   Start  Duration  Name"));
    assert!(!is_mark("==5== Memcheck, a memory error detector"));
    assert!(!is_mark("hello") && !is_mark("====") && !is_mark("=="));
    let error = import(&b"hello\n"[..], "a", target("nvprof")).err().unwrap();
    assert!(error.to_string().contains("nvprof"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn columns_in_any_order(order in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle()) {
        let (mut lines, mut shuffled) = (CSV.lines(), String::new());
        let heads: Vec<&str> = lines.by_ref().take(2).collect();
        shuffled.push_str(&heads.join("\n"));
        for line in lines {
            // Commas in quotes are only in the name of the kernel.
            let line = line.replace("int *, int", "int *; int");
            let cells: Vec<&str> = line.split(',').collect();
            let row: Vec<&str> = order.iter().filter_map(|&at| cells.get(at).copied()).collect();
            shuffled.push('\n');
            shuffled.push_str(&row.join(",").replace("int *; int", "int *, int"));
        }
        let (plain, _) = load(&read(CSV));
        let (other, _) = load(&read(&shuffled));
        prop_assert_eq!(activities(&other), activities(&plain));
    }

    #[test]
    fn damaged_logs(
        which in 0..4usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = [GPU_TRACE, CSV, API, SUMMARY][which].as_bytes().to_vec();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        one_line(import(bytes.as_slice(), "a", target("nvprof")));
    }
}
