//! What the hook does to the processor's state on the way to the real function and back: nothing that a caller or the
//! function could see.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::elf::Elf;
use common::{HOOK, calls, faked, hooked, lost, outcome, programs, report, run};

/// The landing pad of indirect branches, `endbr64`.
const LANDING_PAD: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// Counts of calls in which something changed, but for the upper halves of vector registers, which come last.
fn changed(stdout: &str) -> ([u64; 5], u64) {
    let of = |what: &str| common::number_after(stdout, what);
    (["arguments ", "vectors ", "control ", "stack ", "results "].map(of), of("upper halves "))
}

#[test]
fn registers_stack_and_rounding_are_as_without_the_hook() {
    let Some(programs) = programs() else { return };
    let number = 20_000;
    let program = || faked(programs, "registers", &[&number.to_string()]);
    assert_eq!(changed(&outcome(&run(program())).1), ([0; 5], 0), "without the hook");
    // Both trampolines, with several chunks; the one that records nothing.
    for clock in ["ticks", "monotonic", "off"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = hooked(folder.path(), &program());
        if clock == "off" {
            command.env_remove("UMTUI_OUT");
        } else {
            command.env("UMTUI_CLOCK", clock);
        }
        let (status, stdout, stderr) = outcome(&run(command));
        let (counts, upper) = changed(&stdout);
        assert_eq!((status, counts), (0, [0; 5]), "{clock}: {stderr}");
        // No CUDA function takes a vector wider than xmm. Those are lost where the C library has looked something up for
        // us, at the first call from a place, and nowhere else.
        assert!(clock == "monotonic" || upper <= 3, "{clock}: {upper}");
        if clock != "off" {
            let report = report(&[folder.path()]);
            assert_eq!((calls(&report, "cuEventQuery"), lost(&report)), (number, 0), "{clock}");
        }
    }
}

#[test]
fn whatever_may_be_jumped_to_is_a_landing_pad() {
    let elf = Elf::read(HOOK);
    let mut seen = 0;
    for symbol in elf.dynamic_symbols().iter().filter(|symbol| symbol.defined) {
        assert!(elf.at_address(symbol.value).starts_with(&LANDING_PAD), "{symbol:?}");
        seen += 1;
    }
    assert!(seen > 1000, "{seen}");
    // The pool's stubs, which programs are handed as pointers.
    let symbols = elf.symbols();
    let pool = symbols.iter().find(|symbol| symbol.name == "umtui_pool").unwrap();
    for stub in 0..6144 {
        assert!(elf.at_address(pool.value + stub * 32).starts_with(&LANDING_PAD), "stub {stub}");
    }
}
