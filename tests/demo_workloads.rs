//! The demo's workloads about memory and devices: their numbers, as sim/README.md has them, are in the report to the byte.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{UMTUI, calls, report, run, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use umtui::lens::Lens;
use umtui::session::Loaded;
use umtui::session::view::{
    Body, LinkOptions, MemoryPart, MemoryPartRows, MemoryRequest, TransferRow, Transferred, TransfersRequest, View,
    ViewRequest,
};

const MIB: u64 = 1 << 20;

fn record(folder: &Path, scenario: &str, rounds: u64) -> Value {
    let mut command = Command::new(UMTUI);
    command.args(["demo", scenario, "--report", "-o"]).arg(folder).args(["--", "--rounds", &rounds.to_string()]);
    command.env_remove("LD_PRELOAD");
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    report(&[folder])
}

/// Count, bytes and what is left at the end of a kind.
fn kind(report: &Value, kind: &str) -> (u64, u64, u64) {
    let kinds = report["allocations"]["by_kind"].as_array().unwrap();
    let one = kinds.iter().find(|one| one["kind"] == kind).unwrap();
    let number = |key: &str| one[key].as_u64().unwrap();
    (number("count"), number("bytes"), number("live_bytes"))
}

#[test]
fn the_leak_is_all_that_is_left_and_has_one_call_site() {
    let (steps, each) = (7, 200_000);
    let folder = tempfile::tempdir().unwrap();
    let report = record(folder.path(), "leak", steps);
    let all = &report["allocations"];
    let number = |key: &str| all[key].as_u64().unwrap();
    assert_eq!((number("live_count"), number("live_bytes")), (steps, steps * each));
    assert_eq!((number("count"), number("peak_bytes")), (2 * steps + 3, 12 * MIB + steps * each));
    assert_eq!(kind(&report, "device"), (2 + steps, 9 * MIB + steps * each, steps * each));
    assert_eq!(kind(&report, "pool"), (steps, steps * 2 * MIB, 0));
    assert_eq!(kind(&report, "pinned"), (1, MIB, 0));
    let left: Vec<_> = all["live"].as_array().unwrap().iter().map(|one| &one["call_site"]).collect();
    assert!(left.iter().all(|site| site.as_str().unwrap().contains("remember_loss")), "{left:?}");
    assert_eq!(report["ranges"].as_array().unwrap().iter().filter(|range| range["name"] == "step").count(), 1);
}

#[test]
fn memory_freed_too_early_comes_again_while_it_is_read() {
    let rounds = 5;
    let folder = tempfile::tempdir().unwrap();
    let report = record(folder.path(), "use-after-free", rounds);
    assert_eq!(kind(&report, "pool"), (3 * rounds, 5 * rounds * MIB, 0));
    let all = &report["allocations"];
    assert_eq!((all["live_bytes"].as_u64(), all["peak_bytes"].as_u64()), (Some(0), Some(3 * MIB + 4096)));
    assert_eq!(calls(&report, "cudaFreeAsync"), 3 * rounds);
    assert_eq!(
        report["kernels"].as_array().unwrap().iter().map(|one| one["launches"].as_u64().unwrap()).sum::<u64>(),
        5 * rounds
    );
    let said = text(folder.path());
    assert_eq!(
        said.lines().filter(|line| line.contains(" cudaFreeAsync(") && !line.starts_with('#')).count() as u64,
        3 * rounds
    );
}

#[test]
fn every_way_between_two_devices_is_counted() {
    let rounds = 3;
    let folder = tempfile::tempdir().unwrap();
    let report = record(folder.path(), "multi-gpu", rounds);
    let copies = |kind: &str, pageable: bool| {
        let of = report["copies"].as_array().unwrap().iter();
        let found = of.filter(|one| one["kind"] == kind && one["pageable"] == pageable);
        found.map(|one| (one["count"].as_u64().unwrap(), one["bytes"].as_u64().unwrap())).next()
    };
    assert_eq!(copies("h2d", true), Some((2 * rounds, rounds * MIB)));
    // The program's own way through the host, and the driver's before peer access is allowed.
    assert_eq!(
        (copies("h2d", false), copies("d2h", false)),
        (Some((2 * rounds, 10 * rounds * MIB)), Some((2 * rounds, 10 * rounds * MIB)))
    );
    assert_eq!(copies("p2p", false), Some((2 * rounds, 5 * rounds * MIB)));
    for (way, bytes) in [("staged", 2), ("staged_by_driver", 8)] {
        let pairs = report["transfers"][way].as_array().unwrap();
        let counts: Vec<_> = pairs.iter().map(|one| (one["count"].as_u64(), one["bytes"].as_u64())).collect();
        assert_eq!(counts, [(Some(rounds), Some(bytes * rounds * MIB))], "{way}");
    }
    let moved = &report["migrations"];
    for way in ["h2d", "d2h", "d2d"] {
        assert_eq!(moved[way]["bytes"].as_u64(), Some(4 * rounds * MIB), "{way}");
    }
    assert_eq!(kind(&report, "device"), (2, 16 * MIB, 0));
    assert_eq!((kind(&report, "managed"), kind(&report, "pinned")), ((1, 4 * MIB, 0), (1, 2 * MIB, 0)));
    assert_eq!(
        report["allocations"]["by_device"].as_array().unwrap().iter().filter(|one| one["device"].is_u64()).count(),
        2
    );
}

fn report_with(folder: &Path, options: &[&str]) -> String {
    let mut command = Command::new(UMTUI);
    command.arg("report").args(options).arg(folder);
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_matrix_is_right_to_the_byte_and_says_which_copies_had_peer_access() {
    let rounds = 3;
    let folder = tempfile::tempdir().unwrap();
    let report = record(folder.path(), "multi-gpu", rounds);
    let transfers = &report["transfers"];
    let side = |row: &Value, of: &str| match row[format!("{of}_device")].as_u64() {
        Some(device) => format!("gpu{device}"),
        None => row[of].as_str().unwrap().to_owned(),
    };
    let number = |row: &Value, what: &str| (row[what]["count"].as_u64().unwrap(), row[what]["bytes"].as_u64().unwrap());
    let flows = transfers["flows"].as_array().unwrap();
    let copied: BTreeMap<_, _> = flows
        .iter()
        .map(|row| ((side(row, "from"), side(row, "to")), number(row, "copies")))
        .filter(|(_, (count, _))| *count > 0)
        .collect();
    let ends = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let expected = [
        (ends("pageable", "gpu0"), (rounds, rounds * MIB / 2)),
        (ends("pageable", "gpu1"), (rounds, rounds * MIB / 2)),
        (ends("pinned", "gpu0"), (rounds, 2 * rounds * MIB)),
        (ends("gpu1", "pinned"), (rounds, 2 * rounds * MIB)),
        // Without peer access each copy is told as two, through the host.
        (ends("gpu0", "pinned"), (rounds, 8 * rounds * MIB)),
        (ends("pinned", "gpu1"), (rounds, 8 * rounds * MIB)),
        (ends("gpu0", "gpu1"), (rounds, rounds * MIB)),
        (ends("gpu1", "gpu0"), (rounds, 4 * rounds * MIB)),
    ];
    assert_eq!(copied, BTreeMap::from(expected));
    let moved: BTreeMap<_, _> = flows
        .iter()
        .map(|row| ((side(row, "from"), side(row, "to")), number(row, "migrations").1))
        .filter(|(_, bytes)| *bytes > 0)
        .collect();
    let all = 4 * rounds * MIB;
    let ways = [ends("managed", "gpu0"), ends("gpu0", "gpu1"), ends("gpu1", "managed")];
    assert_eq!(moved, ways.into_iter().map(|way| (way, all)).collect());
    let between = flows.iter().find(|row| side(row, "from") == "gpu0" && side(row, "to") == "gpu1").unwrap();
    assert_eq!(number(between, "with_peer_access"), (rounds, rounds * MIB));
    assert_eq!(number(between, "without_peer_access"), (0, 0));
    for (by, ends, bytes) in [("staged", (1, 0), 2 * rounds * MIB), ("staged_by_driver", (0, 1), 8 * rounds * MIB)] {
        let staged = &transfers[by];
        assert_eq!(staged.as_array().unwrap().len(), 1, "{staged}");
        assert_eq!((&staged[0]["from_device"], &staged[0]["to_device"]), (&ends.0.into(), &ends.1.into()));
        assert_eq!((staged[0]["count"].as_u64(), staged[0]["bytes"].as_u64()), (Some(rounds), Some(bytes)));
    }
    for pair in transfers["topology"].as_array().unwrap() {
        assert_eq!(
            (&pair["can_access"], &pair["access_enabled"], &pair["link"]),
            (&true.into(), &true.into(), &Value::Null)
        );
    }
    // What the links carried is what moved over them.
    let links = transfers["links"].as_array().unwrap();
    let carried: u64 = links.iter().map(|link| link["bytes"].as_u64().unwrap()).sum();
    assert_eq!(carried, (1 + 2 + 2 + 1 + 8 + 8 + 4 + 12) * rounds * MIB);

    let chosen = report_with(folder.path(), &["--device-map", "1:5", "--pcie-bandwidth", "25GB/s", "--p2p-markers"]);
    assert!(chosen.contains("\nhost pinned") || !chosen.contains("-> GPU 0  "), "{chosen}");
    assert!(
        chosen.contains("devices that --device-map leaves out") && chosen.contains("there is no GPU 5"),
        "{chosen}"
    );
    assert!(chosen.contains("limit of a link to the host, as told: 25.0 GB/s"), "{chosen}");
    let marked = report_with(folder.path(), &["--p2p-markers"]);
    assert_eq!(marked.lines().filter(|line| line.starts_with("copy GPU")).count() as u64, 2 * rounds, "{marked}");
    let by_driver =
        format!("{rounds} times {} MiB in all from GPU 0 through the host to GPU 1, by the driver", 8 * rounds);
    assert!(marked.contains(&by_driver), "{marked}");
}

/// The tab of transfers, once it is complete.
fn tab(folder: &Path) -> Vec<TransferRow> {
    let mut loaded = Loaded::load_all(&[folder.to_owned()]).unwrap();
    let asked = TransfersRequest { options: LinkOptions::default(), cells: 20, first: 0, rows: 100 };
    let view = View::Memory(MemoryRequest { plot: 60, moment: None, goal: None, part: MemoryPart::Transfers(asked) });
    let request = ViewRequest { id: 1, view, search: None, lens: Lens::default() };
    for _ in 0..1000 {
        let Body::Memory(rows) = loaded.search(&request, Duration::from_millis(4)).body else {
            panic!("another screen")
        };
        if let (false, MemoryPartRows::Transfers(transfers)) = (rows.partial, rows.part) {
            assert_eq!(transfers.total, transfers.rows.len() as u64);
            return transfers.rows;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never became complete");
}

#[test]
fn the_screen_says_of_transfers_what_the_report_says() {
    let folder = tempfile::tempdir().unwrap();
    let report = record(folder.path(), "multi-gpu", 2);
    let flows = report["transfers"]["flows"].as_array().unwrap();
    let rows = tab(folder.path());
    assert_eq!(rows.len(), flows.len());
    for (row, flow) in rows.iter().zip(flows) {
        let said = |of: &str| (flow[of]["count"].as_u64(), flow[of]["bytes"].as_u64());
        let shown = |moved: Option<Transferred>| (moved.map(|moved| moved.count), moved.map(|moved| moved.bytes));
        assert_eq!((shown(row.copies), shown(row.migrations)), (said("copies"), said("migrations")), "{}", row.name);
        let on_link = row.busiest.is_some();
        assert_eq!(on_link, row.over_time.iter().sum::<u64>() > 0, "{}", row.name);
    }
    let staged: Vec<_> = rows.iter().filter_map(|row| Some((row.name.as_str(), row.staged?))).collect();
    assert_eq!(staged, [("GPU 1 > GPU 0", (2, 4 * MIB))]);
    let by_driver: Vec<_> = rows.iter().filter_map(|row| Some((row.name.as_str(), row.staged_by_driver?))).collect();
    assert_eq!(by_driver, [("GPU 0 > GPU 1", (2, 16 * MIB))]);
}
