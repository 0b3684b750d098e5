//! Logs of RMM as they are opened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use proptest::prelude::*;
use umtui::correlate::End;
use umtui::session::Loaded;

const LOG: &str = "Thread,Time,Action,Pointer,Size,Stream
7,23:59:59.999999,allocate,0x1000,100,0x0
7,23:59:59.999999,free,0x1000,100,0x0
8,23:59:59.999999,allocate,0x1000,300,0x0
8,00:00:00.000001,allocate failure,(nil),9999,0x2
7,00:00:00.5,allocate,0x5000,1,0x0
nonsense
7,00:00:01";

fn load(bytes: &[u8]) -> Result<Loaded, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, bytes).unwrap();
    Loaded::load_all(&[path]).map_err(|error| error.to_string())
}

#[test]
fn what_was_allocated_and_released() {
    let mut loaded = load(LOG.as_bytes()).unwrap();
    assert_eq!(loaded.format(), "rmm");
    assert_eq!(loaded.damage().len(), 1, "{:?}", loaded.damage());
    let trace = loaded.trace();
    assert_eq!(trace.events(), 5);
    // Half a second passes, over midnight.
    assert_eq!(trace.end_ns() - trace.start_ns(), 500_001_000);
    let found = loaded.allocations().remove(0);
    let list: Vec<_> = found.all().iter().map(|one| (one.address, one.bytes, one.end == End::Lives)).collect();
    assert_eq!(list, [(0x1000, 100, false), (0x1000, 300, true), (0x5000, 1, true)]);
    assert_eq!(found.refused().len(), 1);
}

/// Whatever is known of allocations.
fn known(loaded: &mut Loaded) -> String {
    let found = loaded.allocations().remove(0);
    let mut text = format!("{:?} {:?}", found.all(), found.refused());
    let trace = loaded.trace();
    text.push_str(&format!(
        " {} {:?}",
        trace.events(),
        trace.tracks.iter().map(|track| track.thread).collect::<Vec<_>>()
    ));
    text
}

#[test]
fn without_a_stream_none_is_made_up() {
    let plain =
        LOG.lines().map(|line| line.rsplit_once(',').map_or(line, |(rest, _)| rest)).collect::<Vec<_>>().join("\n");
    let arguments = |log: &str| {
        let loaded = load(log.as_bytes()).unwrap();
        let trace = loaded.trace();
        trace.apis.iter().map(|api| api.signature.to_string()).collect::<Vec<_>>()
    };
    assert!(arguments(LOG).iter().all(|signature| signature.contains("stream")));
    let without = arguments(&plain);
    assert!(!without.is_empty() && without.iter().all(|signature| !signature.contains("stream")), "{without:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn columns_in_any_order(order in Just((0..8usize).collect::<Vec<_>>()).prop_shuffle()) {
        let shuffled: Vec<String> = LOG
            .lines()
            .take(6)
            .enumerate()
            .map(|(number, line)| {
                // Two columns that nobody knows.
                let more = if number == 0 { ["Device", "Note"] } else { ["0", "x"] };
                let cells: Vec<&str> = line.split(',').chain(more).collect();
                order.iter().filter_map(|&at| cells.get(at).copied()).collect::<Vec<_>>().join(",")
            })
            .collect();
        let whole: Vec<&str> = LOG.lines().take(6).collect();
        let plain = known(&mut load(whole.join("\n").as_bytes()).unwrap());
        prop_assert_eq!(known(&mut load(shuffled.join("\n").as_bytes()).unwrap()), plain);
    }

    #[test]
    fn damaged_logs(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = LOG.as_bytes().to_vec();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Err(error) = load(&bytes) {
            prop_assert_eq!(error.lines().count(), 1);
        }
    }
}
