//! Every way by which a program reaches CUDA: with the hook it does to the byte what it does without, and every call is
//! recorded. What was called is known from the programs' sources, and for the driver from the stand-in's own counts.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::event::{Event, events, of};
use common::{
    GUEST, HOOK, UMTUI, calls, counts, failed, files, lost, outcome, program, programs, recorded, report, run, sum,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use umtui_wire::table::{FUNCTIONS, Layer};

/// Calls of the driver by symbol.
type Truth = BTreeMap<String, u64>;

/// A program that has run with the hook.
struct Run {
    folder: tempfile::TempDir,
    report: serde_json::Value,
    stdout: String,
}

impl Run {
    fn recording(&self) -> PathBuf {
        self.folder.path().join("recording")
    }

    fn events(&self) -> Vec<Event> {
        events(&self.recording())
    }

    /// Holds that the runtime's functions were called so often, and no others of its.
    fn called(&self, expected: &[(&str, u64)]) -> &Self {
        let expected: Truth = expected.iter().map(|&(name, calls)| (name.to_owned(), calls)).collect();
        let mut found: Truth = BTreeMap::new();
        for (name, calls) in counts(&self.report, "runtime") {
            *found.entry(name).or_default() += calls;
        }
        assert_eq!(found, expected, "{}", self.stdout);
        self
    }

    /// Holds that functions were called so often; others may have been called as well.
    fn called_among(&self, expected: &[(&str, u64)]) -> &Self {
        for &(name, expected) in expected {
            assert_eq!(calls(&self.report, name), expected, "{name}");
        }
        self
    }

    /// Holds what the program itself printed of calls and their results, `cudaFree(memory) -> 0`.
    fn failed_as_shown(&self) -> &Self {
        let mut shown: BTreeMap<&str, u64> = BTreeMap::new();
        for (call, result) in self.stdout.lines().filter_map(|line| line.split_once(" -> ")) {
            let name = call.split('(').next().unwrap();
            let code = result.split(|char: char| !char.is_ascii_digit()).next().unwrap();
            if name.starts_with("cu") && call.contains("(") && code.parse::<u64>().unwrap() != 0 {
                *shown.entry(name).or_default() += 1;
            }
        }
        for (name, times) in shown {
            assert_eq!(sum(&self.report, name, "failed"), times, "{name} failed");
        }
        self
    }
}

/// Runs a program as it is and under `umtui record`, with the oracle in both, and holds what must hold for all: the same
/// output and status, the same driver calls, every one of them recorded, nothing lost.
fn transparent(name: &str, arguments: &[&str]) -> Option<Run> {
    transparent_but(name, arguments, |_, _| ())
}

/// As [`transparent`], where the oracle sees less than is recorded: it does not report what children did that ended by
/// `_exit`, nor what came after its own destructor.
fn transparent_beyond_oracle(name: &str, arguments: &[&str]) -> Option<Run> {
    transparent_but(name, arguments, |found, truth| {
        for (symbol, calls) in truth.iter() {
            assert!(found.get(symbol).is_some_and(|found| found >= calls), "{symbol}: {found:?}");
        }
        truth.clone_from(found);
    })
}

fn transparent_but(name: &str, arguments: &[&str], adjust: impl Fn(&Truth, &mut Truth)) -> Option<Run> {
    let programs = programs()?;
    let command = program(programs, name, arguments);
    let folder = tempfile::tempdir().unwrap();
    let (plain, plain_truth) = with_oracle(&folder.path().join("plain"), command, programs);
    let command = recorded(&folder.path().join("recording"), &program(programs, name, arguments));
    let (hooked, mut truth) = with_oracle(&folder.path().join("hooked"), command, programs);
    assert_eq!(hooked, plain, "{name} {arguments:?}");
    // What the hook asks itself: about kernels, and once about the devices.
    let own = |symbol: &String| {
        let device =
            ["Count", "Name", "Attribute", "Uuid_v2"].iter().any(|what| *symbol == format!("cuDeviceGet{what}"));
        let kernel = symbol.starts_with("cuKernelGet") || symbol.starts_with("cuFuncGet");
        device || kernel || symbol == "cuDeviceTotalMem_v2" || symbol == "cuDriverGetVersion"
    };
    let without_own = |truth: &Truth| truth.clone().into_iter().filter(|(symbol, _)| !own(symbol)).collect::<Truth>();
    assert_eq!(without_own(&truth), without_own(&plain_truth), "{name}: driver calls with and without the hook");
    // Its pointer is handed out as it is: what it leads to has no signatures that could be known.
    truth.clone_from(&plain_truth);
    truth.remove("cuGetExportTable");
    let run = Run { report: report(&[&folder.path().join("recording")]), folder, stdout: plain.1 };
    let found = counts(&run.report, "driver");
    adjust(&found, &mut truth);
    assert_eq!(without_own(&found), without_own(&truth), "{name}: driver calls, recorded and made");
    assert_eq!(lost(&run.report), 0, "{name}");
    assert_eq!(run.report["trace"]["truncated"], false, "{name}");
    Some(run)
}

/// Runs a command with the oracle preloaded.
fn with_oracle(folder: &Path, mut command: Command, programs: &Path) -> ((i32, String, String), Truth) {
    fs::create_dir_all(folder).unwrap();
    let names = folder.with_extension("names");
    let driver = FUNCTIONS.iter().filter(|function| function.layer == Layer::Driver);
    fs::write(&names, driver.map(|function| format!("{}\n", function.name)).collect::<String>()).unwrap();
    command.env("LD_PRELOAD", programs.join("liboracle.so")).env("ORACLE_OUT", folder).env("ORACLE_NAMES", names);
    let outcome = outcome(&run(command));
    let mut truth = Truth::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        for line in fs::read_to_string(entry.path()).unwrap().lines() {
            let mut parts = line.split(' ');
            let symbol = parts.next().unwrap().to_owned();
            *truth.entry(symbol).or_default() += parts.map(|count| count.parse::<u64>().unwrap()).sum::<u64>();
        }
    }
    (outcome, truth)
}

#[test]
fn a_linked_runtime_is_seen_with_sizes_handles_and_nesting() {
    let Some(run) = transparent("linked", &[]) else { return };
    run.failed_as_shown().called(&[
        ("__cudaLaunchKernel", 1),
        ("cudaDeviceSynchronize", 1),
        ("cudaFree", 2),
        ("cudaGetDevice", 1),
        ("cudaGetDeviceCount", 1),
        ("cudaGetLastError", 1),
        ("cudaLaunchKernel", 1),
        ("cudaMalloc", 1),
        ("cudaMallocManaged", 1),
        ("cudaMemcpy", 2),
        ("cudaMemset", 1),
        ("cudaPeekAtLastError", 1),
        ("cudaRuntimeGetVersion", 1),
        ("cudaSetDevice", 1),
    ]);
    run.called_among(&[("cuLaunchKernel", 2), ("cuMemAlloc_v2", 1), ("cuMemcpyDtoH_v2", 1), ("cuMemcpyHtoD_v2", 1)]);
    let events = run.events();
    let allocation = of(&events, "cudaMalloc")[0];
    assert_eq!((allocation.get("bytes"), allocation.depth), ("1024", 0));
    let inner = of(&events, "cuMemAlloc_v2")[0];
    assert_eq!((inner.get("bytes"), inner.get("ptr"), inner.depth), ("1024", allocation.get("ptr"), 1));
    assert!(inner.rest.contains("libcudart.so.13+0x") && allocation.rest.contains(" linked+0x"), "{inner:?}");
    let managed = of(&events, "cudaMallocManaged")[0];
    assert_eq!((managed.get("bytes"), managed.get("flags")), ("1048576", "0x1"));
    assert_eq!(of(&events, "cudaSetDevice")[0].get("device"), "0");
    let kinds: Vec<&str> = of(&events, "cudaMemcpy").iter().map(|event| event.get("kind")).collect();
    assert_eq!(kinds, ["HostToDevice", "DeviceToHost"]);
    for launch in of(&events, "__cudaLaunchKernel").into_iter().chain(of(&events, "cudaLaunchKernel")) {
        assert_eq!((launch.get("grid"), launch.get("block"), launch.get("stream")), ("1x1x1", "256x1x1", "0x0"));
    }
    // Stack arguments of the driver's launch.
    let launch = of(&events, "cuLaunchKernel")[0];
    assert_eq!((launch.get("gridx"), launch.get("blockx"), launch.get("shared")), ("1", "256", "0"));
    assert!(events.iter().all(|event| event.thread_name == "linked"));
    assert!(events.iter().filter(|event| event.api.starts_with("cuda")).all(|event| event.depth == 0));
}

#[test]
fn a_linked_driver_is_seen_with_its_failures() {
    let Some(run) = transparent("linked_driver", &[]) else { return };
    run.called(&[]).failed_as_shown().called_among(&[
        ("cuCtxSynchronize", 1),
        ("cuDeviceGetCount", 2),
        ("cuFuncGetName", 1),
        ("cuInit", 1),
        ("cuLaunchKernel", 1),
        ("cuMemAlloc_v2", 2),
        ("cuMemFree_v2", 2),
        ("cuMemsetD32_v2", 1),
        ("cuModuleGetFunction", 2),
    ]);
    assert_eq!(failed(&run.report), 4);
    let events = run.events();
    let functions = of(&events, "cuModuleGetFunction");
    assert!(functions[0].status == 500 && functions[0].error == "CUDA_ERROR_NOT_FOUND", "{functions:?}");
    assert!(functions[0].get("name").contains("_Z7missingv") && functions[1].get("name").contains("_Z5scalePfm"));
    // An out-parameter of a call that failed is not read.
    assert_eq!(of(&events, "cuMemAlloc_v2").iter().map(|event| event.status).collect::<Vec<_>>(), [201, 0]);
    let stream = of(&events, "cuStreamCreate")[0].get("stream");
    assert_eq!(of(&events, "cuLaunchKernel")[0].get("stream"), stream);
    assert_eq!(of(&events, "cuStreamDestroy_v2")[0].get("stream"), stream);
    assert!(events.iter().all(|event| event.depth == 0));
}

#[test]
fn dlopened_runtimes_are_seen_whatever_their_scope() {
    let path = format!("{GUEST}/libcudart.so.13");
    for (name, arguments) in [("dlopen_local", vec![]), ("dlopen_global", vec![]), ("absolute", vec![path.as_str()])] {
        let Some(run) = transparent(name, &arguments) else { return };
        run.called(&[("cudaDeviceSynchronize", 1), ("cudaFree", 1), ("cudaGetDeviceCount", 1), ("cudaMalloc", 1)]);
        let events = run.events();
        assert_eq!(of(&events, "cudaMalloc")[0].get("bytes"), "1000");
    }
}

#[test]
fn get_proc_address_gives_what_it_did_and_its_pointers_are_seen() {
    let Some(run) = transparent("getproc", &[]) else { return };
    run.called(&[]).failed_as_shown().called_among(&[
        ("cuCtxSetCurrent", 1),
        ("cuDevicePrimaryCtxRetain", 1),
        ("cuInit", 1),
        ("cuMemAlloc_v2", 1),
        ("cuMemFree_v2", 2),
    ]);
    assert_eq!(sum(&run.report, "cuMemFree_v2", "failed"), 1);
}

#[test]
fn a_static_runtime_is_seen_through_the_driver() {
    let Some(run) = transparent("static_cudart", &[]) else { return };
    run.called(&[]).called_among(&[
        ("cuMemAllocManaged", 1),
        ("cuLaunchKernel", 3),
        ("cuCtxSynchronize", 3),
        ("cuMemFree_v2", 1),
    ]);
    let events = run.events();
    assert_eq!(of(&events, "cuMemAllocManaged")[0].get("bytes"), "1048576");
    assert!(of(&events, "cuLaunchKernel").iter().all(|event| event.get("gridx") == "1024"));
}

#[test]
fn lookups_by_default_next_deepbind_and_runpath_find_what_they_did() {
    let Some(run) = transparent("rtld_default", &[]) else { return };
    run.called(&[("cudaDeviceSynchronize", 1), ("cudaGetDevice", 1), ("cudaSetDevice", 1)]);
    // What a library finds behind itself with RTLD_NEXT is left to it: it is mostly a tool that was called by a name of ours.
    transparent("rtld_next", &[]).unwrap().called(&[("cudaSetDevice", 1)]);
    transparent("deepbind", &[]).unwrap().called(&[]).called_among(&[("cuDeviceGetCount", 1), ("cuInit", 1)]);
    transparent("runpath", &[]).unwrap().called(&[("cudaDeviceSynchronize", 1), ("cudaGetDevice", 1)]);
}

#[test]
fn names_that_only_look_like_cudas_are_left_alone() {
    let Some(run) = transparent("foreign", &[]) else { return };
    run.called(&[("cudaGetDevice", 1)]);
}

#[test]
fn a_caller_that_names_no_library_gets_what_was_opened_for_all() {
    for opened in [
        ["libcudart.so.13", "+libcudart.so.12"],
        ["libcudart.so.12", "+libcudart.so.13"],
        ["+libcudart.so.12", "+libcudart.so.13"],
    ] {
        let Some(run) = transparent("for_all", &opened) else { return };
        run.called(&[("cudaRuntimeGetVersion", 3)]);
    }
}

#[test]
fn two_majors_in_one_process_keep_their_own_signatures() {
    for mode in ["global", "local"] {
        let Some(run) = transparent("two_majors", &[mode]) else { return };
        run.failed_as_shown().called(&[
            ("cudaDeviceSynchronize", 3),
            ("cudaFree", 3),
            ("cudaGetLastError", 3),
            ("cudaMallocManaged", 3),
            ("cudaMemAdvise", 3),
            ("cudaMemPrefetchAsync", 6),
            ("cudaMemPrefetchAsync_v2", 2),
            ("cudaMemRangeGetAttribute", 6),
            ("cudaRuntimeGetVersion", 3),
            ("cudaSetDevice", 3),
        ]);
        let events = run.events();
        let places: Vec<String> = of(&events, "cudaMemPrefetchAsync")
            .iter()
            .map(|event| match event.arguments.get("location") {
                Some(location) => format!("13 {location}"),
                None => format!("12 {}", event.get("device")),
            })
            .collect();
        assert_eq!(places, ["12 1", "12 77", "13 Device:0", "13 Device:0", "12 1", "12 77"]);
        let second = of(&events, "cudaMemPrefetchAsync_v2");
        assert!(second.iter().all(|event| event.get("location") == "Host" && event.get("bytes") == "1048576"));
        let advice = of(&events, "cudaMemAdvise");
        assert_eq!(advice[0].get("device"), "1");
        assert_eq!(advice[1].get("location"), "Host");
    }
}

#[test]
fn many_threads_are_counted_each_under_its_name() {
    for (threads, rounds) in [(1u64, 10_000u64), (8, 3_000), (64, 300)] {
        let Some(run) = transparent("threads", &[&threads.to_string(), &rounds.to_string()]) else { return };
        run.called(&[
            ("cudaFree", threads),
            ("cudaGetDevice", threads * rounds),
            ("cudaMalloc", threads),
            ("cudaSetDevice", 1),
            ("cudaStreamQuery", threads * rounds),
        ]);
        let list = run.report["threads"].as_array().unwrap();
        let mut names: Vec<&str> = list.iter().map(|thread| thread["name"].as_str().unwrap()).collect();
        names.retain(|&name| name != "umtui");
        names.sort_unstable();
        let mut expected: Vec<String> =
            (0..threads).map(|index| format!("worker {index}")).chain(["threads".into()]).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
        for thread in list.iter().filter(|thread| thread["name"] != "threads" && thread["name"] != "umtui") {
            assert!(thread["calls"].as_u64().unwrap() >= 2 * rounds + 2, "{thread}");
        }
    }
}

#[test]
fn parent_and_child_of_a_fork_record_into_files_of_their_own() {
    let Some(run) = transparent_beyond_oracle("fork", &[]) else { return };
    run.called(&[
        ("cudaDeviceSynchronize", 3),
        ("cudaFree", 6),
        ("cudaGetDevice", 3),
        ("cudaMalloc", 3),
        ("cudaMallocManaged", 3),
        ("cudaMemcpy", 3),
        ("cudaMemcpyAsync", 3),
        ("cudaMemset", 3),
    ]);
    assert_eq!(run.report["trace"]["processes"], 2);
    assert_eq!(files(&run.recording(), "umt").len(), 2);
    for file in files(&run.recording(), "umt") {
        let report = report(&[&file]);
        let parent = calls(&report, "cudaGetDevice") == 2;
        assert_eq!(calls(&report, "cudaFree"), if parent { 4 } else { 2 }, "{report}");
        assert!(!report.to_string().contains("api#"), "functions of the child have names: {report}");
    }
}

#[test]
fn failures_leave_results_errno_and_out_parameters_as_they_are() {
    let Some(run) = transparent("errors", &[]) else { return };
    run.called(&[
        ("cudaDeviceSynchronize", 3),
        ("cudaFree", 1),
        ("cudaGetDevice", 1),
        ("cudaGetErrorName", 2),
        ("cudaGetErrorString", 2),
        ("cudaGetLastError", 5),
        ("cudaLaunchKernel", 3),
        ("cudaMalloc", 3),
        ("cudaMallocManaged", 1),
        ("cudaMemcpy", 1),
        ("cudaPeekAtLastError", 17),
        ("cudaSetDevice", 1),
        ("cudaStreamQuery", 1),
        ("cudaStreamSynchronize", 1),
    ]);
    run.failed_as_shown();
    let left = run.stdout.lines().filter(|line| line.contains(", last ") && !line.ends_with(", last 0")).count() as u64;
    assert_eq!(sum(&run.report, "cudaPeekAtLastError", "failed"), left);
    assert_eq!(sum(&run.report, "cudaGetErrorString", "failed"), 0, "a result that is no status");
    let events = run.events();
    let big = of(&events, "cudaMalloc")[0];
    assert_eq!((big.status, big.error.as_str(), big.get("bytes")), (2, "cudaErrorMemoryAllocation", "70368744177664"));
}

#[test]
fn structures_by_value_arrive_bit_exact() {
    let Some(run) = transparent("structs", &[]) else { return };
    run.called(&[
        ("cudaDeviceSynchronize", 1),
        ("cudaFree", 1),
        ("cudaMalloc3D", 1),
        ("cudaMemcpy2DAsync", 3),
        ("cudaMemset3D", 1),
    ]);
    assert!(run.stdout.contains("sum 189000 of 189000"), "{}", run.stdout);
    // Two sides are written behind an address, the third lies in the structure itself.
    let events = run.events();
    let made = of(&events, "cudaMalloc3D")[0];
    assert_eq!(["width", "height", "depth"].map(|role| made.get(role)), ["100", "7", "3"]);
}

#[test]
fn calls_from_a_host_function_belong_to_the_thread_that_ran_it() {
    let Some(run) = transparent("nested", &[]) else { return };
    run.called(&[
        ("cudaDeviceSynchronize", 4),
        ("cudaGetDevice", 3),
        ("cudaLaunchHostFunc", 3),
        ("cudaStreamCreate", 1),
        ("cudaStreamDestroy", 1),
        ("cudaStreamSynchronize", 1),
    ]);
    assert_eq!(sum(&run.report, "cudaDeviceSynchronize", "failed"), 3);
    let events = run.events();
    for event in of(&events, "cudaGetDevice") {
        assert!(event.thread_name.starts_with("sim_stream") && event.depth == 0, "{event:?}");
    }
    let main = events[0].thread;
    assert!(events.iter().filter(|event| event.api == "cudaLaunchHostFunc").all(|event| event.thread == main));
    // A driver call is nested in the runtime call that made it.
    assert!(of(&events, "cuLaunchHostFunc").iter().all(|event| event.depth == 1));
}

#[test]
fn constructors_and_destructors_on_either_side_of_ours_are_recorded() {
    let Some(run) = transparent_beyond_oracle("exit_order", &[]) else { return };
    run.called(&[("cudaFree", 4), ("cudaGetDevice", 4), ("cudaGetDeviceCount", 2), ("cudaMalloc", 4)]);
}

#[test]
fn calls_left_by_longjmp_are_there_and_the_depth_recovers() {
    let Some(run) = transparent("longjmp", &[]) else { return };
    run.called(&[
        ("cudaDeviceSynchronize", 1),
        ("cudaGetDevice", 5),
        ("cudaLaunchHostFunc", 1),
        ("cudaStreamCreate", 1),
        ("cudaStreamDestroy", 1),
        ("cudaStreamSynchronize", 6),
    ]);
    let events = run.events();
    assert!(events.iter().filter(|event| event.api.starts_with("cuda")).all(|event| event.depth == 0));
    let waits = of(&events, "cudaStreamSynchronize");
    assert_eq!(waits.iter().filter(|event| event.rest.contains("entry")).count(), 5, "{waits:?}");
}

#[test]
fn libraries_may_come_and_go() {
    let Some(run) = transparent("reload", &[]) else { return };
    run.failed_as_shown();
    // Three rounds; each round asks both runtimes, and runs each major's helper.
    run.called_among(&[
        ("cudaRuntimeGetVersion", 12),
        ("cudaGetDevice", 6),
        ("cudaMemPrefetchAsync", 12),
        ("cudaMemPrefetchAsync_v2", 3),
        ("cudaMemAdvise", 6),
    ]);
    let events = run.events();
    let majors = of(&events, "cudaMemAdvise").iter().filter(|event| event.arguments.contains_key("location")).count();
    assert_eq!(majors, 3);
}

#[test]
fn a_call_site_that_calls_everything_is_no_trap() {
    // As under Python's ctypes; one of the functions is in no table, and takes nine arguments.
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let command = common::faked(programs, "onesite", &[]);
    let recording = folder.path().join("recording");
    let hooked = run(recorded(&recording, &command));
    assert_eq!(outcome(&hooked), outcome(&run(command)));
    let report = report(&[&recording]);
    for name in ["cuBrandNewFunction", "cuDriverGetVersion", "cuLaunchKernel"] {
        assert_eq!(calls(&report, name), 9, "{name}: {report}");
    }
    assert_eq!((calls(&report, "cuInit"), failed(&report), lost(&report)), (18, 9, 0));
    for file in files(&recording, "umt") {
        let report = common::report(&[&file]);
        assert!(calls(&report, "cuBrandNewFunction") > 0, "named in each process's file: {report}");
    }
}

#[test]
fn programs_started_by_the_program_are_recorded_too() {
    let Some(run) = transparent("spawn", &[]) else { return };
    run.called(&[("cudaDeviceSynchronize", 3), ("cudaGetDevice", 7), ("cudaSetDevice", 3)]);
    assert_eq!(run.report["trace"]["processes"], 4);
}

#[test]
fn what_the_loader_says_stays_as_it_was() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let plain = outcome(&run(program(programs, "dlerror", &[])));
    let hooked = outcome(&run(recorded(&folder.path().join("recording"), &program(programs, "dlerror", &[]))));
    // Where a name of ours is asked of the global scope and nobody else has it, the text names us as the one who asked.
    let asked = programs.join("dlerror").display().to_string();
    let text = hooked.1.lines().map(|line| match line.split_once("/libumtui_hook.so: undefined symbol") {
        Some((before, after)) => {
            format!("{}{asked}: undefined symbol{after}", before.split_inclusive(", ").take(2).collect::<String>())
        }
        None => line.to_owned(),
    });
    let text: Vec<String> = text.collect();
    assert_eq!(text, plain.1.lines().collect::<Vec<_>>());
    assert_eq!((hooked.0, hooked.2), (plain.0, plain.2));
}

#[test]
fn without_a_driver_the_program_fails_as_it_did() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let only = folder.path().join("only");
    fs::create_dir(&only).unwrap();
    fs::copy(format!("{GUEST}/libcudart.so.13"), only.join("libcudart.so.13")).unwrap();
    let mut command = program(programs, "linked", &[]);
    command.env("LD_LIBRARY_PATH", &only);
    let recording = folder.path().join("recording");
    let hooked = outcome(&run(recorded(&recording, &command)));
    assert_eq!(hooked, outcome(&run(command)));
    let report = report(&[&recording]);
    assert_eq!(sum(&report, "cudaGetDeviceCount", "failed"), 1, "{report}");
}

#[test]
fn when_there_are_no_stubs_left_calls_go_past_us() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    // A library with all names of CUDA, several times over, each time with other functions.
    let names: BTreeSet<&str> = FUNCTIONS.iter().map(|function| function.name).collect();
    let mut source = String::new();
    for name in &names {
        source += &format!("int {name}(void) {{ return 0; }}\n");
    }
    source += "const char *names[] = {";
    for name in &names {
        source += &format!("\"{name}\", ");
    }
    source += "0};\n";
    let (text, library) = (folder.path().join("names.c"), folder.path().join("names0.so"));
    fs::write(&text, source).unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-fno-builtin", "-o"]).arg(&library).arg(&text).status();
    assert!(compiled.unwrap().success());
    let mut paths = vec![library.to_str().unwrap().to_owned()];
    for copy in 1..=8 {
        let path = folder.path().join(format!("names{copy}.so"));
        fs::copy(&library, &path).unwrap();
        paths.push(path.to_str().unwrap().to_owned());
    }
    let made = names.len() * paths.len();
    assert!(made > 6144, "{made}");
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let command = program(programs, "crowded", &paths);
    let out = folder.path().join("out");
    let plain = outcome(&run(common::again(&command)));
    assert!(plain.1.starts_with(&format!("{made} found\n")), "{plain:?}");
    assert_eq!(outcome(&run(common::hooked(&out, &command))), plain);
    let report = report(&[&out]);
    // Of one runtime all are seen; of the other none, and counted.
    assert_eq!(calls(&report, "cudaRuntimeGetVersion"), 1);
    assert!(lost(&report) > 0);
}

#[test]
fn another_tool_that_is_preloaded_is_called_as_often_as_without_us() {
    let Some(programs) = programs() else { return };
    let second = programs.join("libsecond.so");
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    for (name, expected) in [("linked", "1 1\n"), ("rtld_default", "0 1\n"), ("two_majors", "")] {
        let with = |preload: &str, out: Option<&Path>| {
            let _ = fs::remove_file(&tool);
            let mut command = program(programs, name, &[]);
            command.env("LD_PRELOAD", preload).env("SECOND_OUT", &tool);
            if let Some(out) = out {
                fs::create_dir_all(out).unwrap();
                command.env("UMTUI_OUT", out);
            }
            let outcome = outcome(&run(command));
            (outcome, fs::read_to_string(&tool).unwrap_or_default())
        };
        let second = second.display();
        let plain = with(&second.to_string(), None);
        assert_eq!(plain.1, expected, "{name} without us");
        for (index, preload) in [format!("{HOOK}:{second}"), format!("{second} {HOOK}")].iter().enumerate() {
            let out = folder.path().join(format!("{name}{index}"));
            assert_eq!(with(preload, Some(&out)), plain, "{name} with LD_PRELOAD={preload}");
            let report = report(&[&out]);
            assert_eq!(calls(&report, "cudaSetDevice"), if name == "two_majors" { 3 } else { 1 }, "{name} {preload}");
            assert_eq!(calls(&report, "cudaGetDevice"), u64::from(name != "two_majors"), "{name} {preload}");
            assert_eq!(lost(&report), 0);
        }
    }
}

#[test]
fn the_variables_of_umtui_env_record_in_a_shell() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("with 'quotes' and spaces");
    let plain = program(programs, "linked", &[]);
    // What is preloaded already stays.
    let script = r#"eval "$("$1" env -o "$2")" && "$3" && exec "$3""#;
    let mut shell = program(programs, "linked", &[]);
    shell = common::again(&shell);
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", UMTUI]).arg(&out).arg(shell.get_program());
    for (name, value) in shell.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let second = folder.path().join("second");
    command.env("LD_PRELOAD", programs.join("libsecond.so")).env("SECOND_OUT", &second);
    let (status, stdout, stderr) = outcome(&run(command));
    let once = outcome(&run(plain)).1;
    assert_eq!((status, stdout, stderr), (0, format!("{once}{once}"), String::new()));
    assert_eq!(fs::read_to_string(second).unwrap(), "1 1\n");
    let report = report(&[&out]);
    assert_eq!((calls(&report, "cudaMalloc"), &report["trace"]["processes"]), (2, &2.into()));
}
