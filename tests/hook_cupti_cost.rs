//! What recording the GPU costs: a launch in instructions, a migration in time beside copying its bytes.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
#[path = "common/gpu.rs"]
mod gpu;
#[path = "common/raw.rs"]
mod raw;

use common::{HOOK, number_after, outcome, program, programs, run};
use std::path::Path;
use std::process::Command;
use umtui::trace::ActivityKind;
use umtui_wire::activity::KIND_SUBMIT;

/// Launches of the shorter and the longer run.
const LAUNCHES: [u64; 2] = [2_000, 22_000];
/// Instructions that recording may add to a launch with nine arguments, two of four parameters pointers, and CUPTI's
/// callbacks for its id; 1,010 were measured, of which 80 are the callbacks.
const RECORDED: f64 = 1_060.0;
/// Migrations that are handed over at once, and ns that each may take.
const MIGRATIONS: u64 = 100_000;
const MIGRATION_NS: u64 = 900;

/// `quick LAUNCHES MIGRATIONS` on libquick.c.
fn quick(programs: &Path, launches: u64, migrations: u64) -> Command {
    let mut command = program(programs, "quick", &[&launches.to_string(), &migrations.to_string()]);
    command.env("LD_LIBRARY_PATH", programs.join("quick-driver")).env_remove("UMTUI_CUPTI");
    command
}

/// Instructions a launch, from the difference of two runs.
fn instructions(programs: &Path, folder: &Path, hooked: bool) -> f64 {
    let total = |launches: u64| {
        let out = folder.join(format!("{hooked}{launches}"));
        let program = quick(programs, launches, 0);
        let mut command = Command::new("valgrind");
        command.args(["-q", "--tool=callgrind"]).arg(format!("--callgrind-out-file={}", out.display()));
        command.arg(program.get_program()).args(program.get_args());
        command.env("LD_LIBRARY_PATH", programs.join("quick-driver")).env_remove("LD_PRELOAD").env_remove("UMTUI_OUT");
        // The emulated processor does not say that its counter is invariant.
        command.env("UMTUI_CLOCK", "ticks").env("UMTUI_TICKS_PER_SECOND", "2000000000");
        if hooked {
            let recording = folder.join(launches.to_string());
            std::fs::create_dir(&recording).unwrap();
            command.env("LD_PRELOAD", HOOK).env("UMTUI_OUT", recording);
        }
        let output = run(command);
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read_to_string(out).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
        line.unwrap().trim().parse::<u64>().unwrap()
    };
    let [short, long] = LAUNCHES.map(total);
    (long - short) as f64 / (LAUNCHES[1] - LAUNCHES[0]) as f64
}

#[test]
fn a_recorded_launch_stays_cheap() {
    let Some(programs) = programs() else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: no valgrind");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [absent, recording] = [false, true].map(|hooked| instructions(programs, folder.path(), hooked));
    let added = recording - absent;
    println!("{absent:.1} instructions a launch, +{added:.1} recording");
    let recorded = gpu::only(&folder.path().join(LAUNCHES[1].to_string()));
    let whole = recorded.file.of(KIND_SUBMIT).filter(|record| record.head.a == 2 && record.head.b != 0);
    assert_eq!(whole.count() as u64, LAUNCHES[1], "with two pointers and an id");
    assert!(added <= RECORDED, "recording adds {added:.1}");
}

#[test]
fn a_migration_is_written_down_in_less_than_a_microsecond() {
    let Some(programs) = programs() else { return };
    // In processor time, which other work on the machine changes least; the best of a few.
    let measured = (0..5).map(|_| {
        let folder = tempfile::tempdir().unwrap();
        let (status, stdout, _) = outcome(&run(common::hooked(folder.path(), &quick(programs, 10, MIGRATIONS))));
        assert_eq!(status, 0, "{stdout}");
        assert_eq!(number_after(&stdout, "done "), MIGRATIONS);
        let recorded = gpu::only(folder.path());
        assert_eq!(recorded.rows(ActivityKind::Unified).len() as u64, MIGRATIONS);
        assert_eq!(recorded.totals().h2d, MIGRATIONS * 65_536);
        (number_after(&stdout, "done 100000, "), number_after(&stdout, "copied in "))
    });
    let (ns, copied) = measured.min().unwrap();
    println!("{ns} ns a migration, {copied} ns to copy its bytes");
    assert!(ns <= MIGRATION_NS, "{ns} ns");
    // On a machine whose memory is slow so is this.
    assert!(ns <= 100 * copied.max(5), "{ns} ns, and {copied} ns to copy its bytes");
}
