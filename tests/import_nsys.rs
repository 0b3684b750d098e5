//! Exports of Nsight Systems, of three schemas with tables and columns missing, through the binary to the report's
//! numbers.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// `globalTid`: machine 1, process 4121, thread.
const fn tid(thread: i64) -> i64 {
    (1 << 56) | (4121 << 24) | thread
}

const PID: i64 = tid(0);

fn report(path: &Path) -> Value {
    let out =
        Command::new(env!("CARGO_BIN_EXE_umtui")).args(["report", "--format", "json"]).arg(path).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn make(script: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(script).unwrap();
    (folder, path)
}

fn sum(list: &Value, field: &str) -> u64 {
    list.as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
}

fn calls(report: &Value, layer: &str) -> u64 {
    let all = report["apis"].as_array().unwrap().iter();
    all.filter(|api| api["layer"] == layer).map(|api| api["calls"].as_u64().unwrap()).sum()
}

/// Schema 3.28: everything there is.
fn newest() -> String {
    said_and_called() + &worked_and_moved()
}

/// Who ran, and what was called.
fn said_and_called() -> String {
    format!(
        "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
         INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.28.1'), ('EXPORT_PRODUCT_VERSION', '2026.4.1.1');
         CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'cudaLaunchKernel_v7000'), (3, 'cuLaunchKernel'),
            (4, 'add(int *, int)'), (5, 'add'), (6, '_Z3addPii'), (7, 'cudaMemcpyAsync_ptsz_v7000'), (8, 'cudaFree_v3020'),
            (9, 'worker'), (10, 'train'), (11, 'cudaMallocManaged_v6000'), (12, 'mov'), (13, '/usr/bin/app');
         CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '', 5);
         CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
         INSERT INTO PROCESSES VALUES ({pid}, 4121, '/usr/bin/app'), (99, 7, 'other');
         CREATE TABLE ThreadNames(nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
         INSERT INTO ThreadNames VALUES (9, 0, {worker}), (9, 0, 1234);
         CREATE TABLE TARGET_INFO_GPU(vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, totalMemory INTEGER,
            smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);
         INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H200', '0000:3b:00.0', 150000000000, 132,
            '00010203-0405-0607-0809-0a0b0c0d0e0f', 0, 9, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
            (1000, 2000, 0, {main}, 1, 1, 0, NULL),
            (2500, 2900, 0, {main}, 8, 11, 0, NULL),
            (3000, 4000, 0, {main}, 2, 2, 0, 77), (3000, 4000, 67, {main}, 2, 2, 0, 77),
            (3100, 3900, 1, {main}, 3, 3, 0, NULL),
            (5000, 5500, 0, {worker}, 4, 7, 0, NULL),
            (6000, 6100, 0, {main}, 5, 8, 0, NULL),
            (7000, 7100, 0, {main}, 6, 1, 2, NULL),
            (7200, 7300, 28, {main}, 7, 9, 0, NULL);
         CREATE TABLE CUDA_CALLCHAINS(id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL,
            unresolved INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY(id, stackDepth));
         INSERT INTO CUDA_CALLCHAINS VALUES (77, 10, 13, NULL, 4660, 0);",
        pid = PID,
        main = tid(4121),
        worker = tid(4125),
    )
}

/// What devices and the driver did, and ranges.
fn worked_and_moved() -> String {
    format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
            shortName INTEGER, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER,
            gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER,
            staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
            localMemoryTotal INTEGER, gridId INTEGER, graphNodeId INTEGER, graphId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
            (4200, 4700, 0, 1, NULL, 7, 2, {pid}, 4, 5, 6, 1, 0, 32, 128, 2, 1, 256, 1, 1, 64, 1024, 0, 0, 1, NULL, NULL),
            (4800, 4900, 0, 1, NULL, 13, 20, {pid}, 4, 5, 6, 1, 0, 32, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0, 2, 9, 3);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
            copyKind INTEGER, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER,
            srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER,
            virtualAddress INTEGER, copyCount INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
            (5600, 5900, 0, 1, NULL, 7, 4, {pid}, 4096, 1, NULL, 0, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
            (5910, 5950, 0, 1, NULL, 7, 30, {pid}, 100, 2, NULL, 2, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1),
            (4210, 4310, 0, 0, NULL, 0, 0, {pid}, 65536, 11, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, 140000, 0),
            (4320, 4330, 0, 0, NULL, 0, 0, {pid}, 4096, 11, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, 240000, 0),
            (4410, 4510, 0, 0, NULL, 0, 0, {pid}, 8192, 12, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, NULL, 140000, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER, memKind INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (6010, 6020, 0, 1, 7, 40, {pid}, 255, 512, 2);
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, end INTEGER, deviceId INTEGER,
            contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER,
            eventId INTEGER, eventSyncId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (6030, 6040, 0, 1, 7, 41, {pid}, 3, 4294967295, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (6050, 6090, 0, 1, 21, 42, {pid}, 5, 6);
         CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS(start INTEGER, globalPid INTEGER, address INTEGER,
            originalFaultPc INTEGER, CpuInstruction INTEGER, module INTEGER);
         INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (4400, {pid}, 140000, 4242, 12, 13), (4405, {pid}, 144096, 4242, 12, 13);
         CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS(start INTEGER, end INTEGER, globalPid INTEGER, deviceId INTEGER,
            address INTEGER, numberOfPageFaults INTEGER, faultAccessType INTEGER);
         INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (4205, 4209, {pid}, 0, 140000, 9, 2);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER,
            address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, name TEXT,
            correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
            (1500, {pid}, 0, 1, 1048576, 0, 4096, 2, 0, NULL, 1, NULL, NULL),
            (2600, {pid}, 0, 1, 140000, 0, 200000, 4, 0, NULL, 8, NULL, NULL),
            (6050, {pid}, 0, 1, 1048576, 0, 4096, 2, 1, NULL, 5, NULL, NULL);
         CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
            color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
            uint64Value INTEGER, jsonTextId INTEGER);
         INSERT INTO NVTX_EVENTS VALUES
            (0, NULL, 75, NULL, NULL, NULL, 'NCCL', {main}, NULL, NULL, 3, NULL, NULL),
            (900, 6500, 59, NULL, NULL, NULL, 'step', {main}, NULL, NULL, 0, NULL, NULL),
            (950, 6400, 59, NULL, NULL, NULL, NULL, {main}, NULL, 10, 3, 17, NULL),
            (960, 7000, 60, 4, NULL, NULL, 'loose', {main}, {worker}, NULL, 0, NULL, NULL),
            (970, NULL, 34, NULL, NULL, NULL, 'here', {main}, NULL, NULL, 0, NULL, NULL);
         CREATE TABLE DIAGNOSTIC_EVENT(timestamp INTEGER, severity INTEGER, source INTEGER, text TEXT);
         INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 'all is well'), (2, 3, 1, 'CUDA: 12 events were lost.');",
        pid = PID,
        main = tid(4121),
        worker = tid(4125),
    )
}

#[test]
fn schema_3_28() {
    let (_folder, path) = make(&newest());
    let report = report(&path);
    let trace = &report["trace"];
    assert_eq!(trace["format"], "nsys");
    assert_eq!((trace["processes"].as_u64(), trace["threads"].as_u64()), (Some(1), Some(2)), "{trace}");
    assert_eq!(trace["start_unix_ns"], 1_700_000_000_000_000_900u64);
    assert_eq!((calls(&report, "runtime"), calls(&report, "driver")), (6, 1));
    let malloc = report["apis"].as_array().unwrap().iter().find(|api| api["name"] == "cudaMalloc").unwrap();
    assert_eq!((&malloc["calls"], &malloc["failed"]), (&json!(2), &json!(1)));
    assert_eq!(malloc["recorded_as"], "cudaMalloc_v3020", "the original is kept");
    let launch = report["apis"].as_array().unwrap().iter().find(|api| api["name"] == "cuLaunchKernel").unwrap();
    assert_eq!(launch["recorded_as"], Value::Null);
    assert_eq!(sum(&report["kernels"], "launches"), 2);
    assert_eq!(report["kernels"][0]["name"], "add(int *, int)");
    assert_eq!((sum(&report["copies"], "count"), sum(&report["copies"], "bytes")), (2, 4196));
    let pageable = report["copies"].as_array().unwrap().iter().find(|copy| copy["kind"] == "h2d").unwrap();
    assert_eq!(pageable["pageable"], true);
    let moved = &report["migrations"];
    assert_eq!((&moved["h2d"]["count"], &moved["h2d"]["bytes"]), (&json!(2), &json!(69_632)));
    assert_eq!((&moved["d2h"]["count"], &moved["d2h"]["bytes"]), (&json!(1), &json!(8192)));
    assert_eq!(moved["by_cause"]["coherence"]["bytes"], 65_536);
    assert_eq!(moved["by_cause"]["user"]["count"], 1);
    assert_eq!(moved["by_cause"]["eviction"]["count"], 1);
    assert_eq!((&report["faults"]["cpu"], &report["faults"]["gpu_groups"]), (&json!(2), &json!(9)));
    assert!(report["faults"]["thrashing"].is_null() && report["faults"]["remote_maps"].is_null());
    let memory = &report["allocations"];
    assert_eq!((&memory["count"], &memory["failed"]), (&json!(2), &json!(1)), "{memory}");
    assert_eq!((&memory["peak_bytes"], &memory["live_bytes"]), (&json!(204_096), &json!(200_000)), "{memory}");
    assert_eq!(memory["live"][0]["kind"], "managed");
    // Work is on streams 7, 13 and 21; migrations are on none.
    assert_eq!(trace["streams"], 3, "{}", report["streams"]);
    assert_eq!(trace["devices"], 1);
    assert_eq!(trace["truncated"], true, "events were lost: {trace}");
}

#[test]
fn schema_3_16_without_what_came_later() {
    let script = newest().replace("3.28.1", "3.16.1");
    let later = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphId;
        ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN copyCount;
        DROP TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS; DROP TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS;
        DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS; DROP TABLE DIAGNOSTIC_EVENT;
        DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind > 10;";
    let (_folder, path) = make(&format!("{script}{later}"));
    let report = report(&path);
    assert_eq!(report["faults"], Value::Null, "what was not recorded is not zero");
    assert_eq!(report["migrations"], Value::Null);
    assert_eq!(sum(&report["kernels"], "launches"), 2);
    assert_eq!((calls(&report, "runtime"), calls(&report, "driver")), (6, 1));
    assert_eq!(report["trace"]["truncated"], false);
}

#[test]
fn schema_3_0_with_little_in_it() {
    let script = format!(
        "CREATE TABLE StringIds(id INTEGER, value TEXT);
         INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'scale'), (3, 'cuInit');
         CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(end INTEGER, start INTEGER, nameId INTEGER, globalTid INTEGER,
            correlationId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (20, 10, 1, {main}, 1), (NULL, 30, 1, {main}, 2), (9, 5, 3, {main}, 3);
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
            streamId INTEGER, correlationId INTEGER, shortName INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (15, 40, 0, 1, 7, 1, 2), (NULL, 50, 0, 1, 7, 9, 2);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER, end INTEGER, bytes INTEGER, copyKind INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (50, 60, 7, 2);
         CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER, name TEXT, label TEXT);
         INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_DTOH', ''), (2, 'CUDA_MEMCPY_KIND_HTOD', '');",
        main = tid(4121),
    );
    let (_folder, path) = make(&script);
    let report = report(&path);
    assert_eq!((calls(&report, "runtime"), calls(&report, "driver")), (2, 1), "one has begun only: {}", report["apis"]);
    assert_eq!((sum(&report["kernels"], "launches"), report["kernels"][0]["name"].as_str()), (1, Some("scale")));
    assert_eq!((report["copies"][0]["kind"].as_str(), sum(&report["copies"], "bytes")), (Some("h2d"), 7));
    assert_eq!(report["trace"]["processes"], 1, "whose work it is follows from there being one process only");
    assert_eq!(report["faults"], Value::Null);
    assert_eq!(report["trace"]["truncated"], true, "a row without a time");
}

/// The report of a file without a process in between, as it is printed.
fn reported(path: &Path) -> String {
    let mut loaded = umtui::session::Loaded::load_all(&[path.to_owned()]).unwrap();
    let text = umtui::report::json(&umtui::report::Report::of(&mut loaded));
    text.replace(&path.display().to_string(), "FILE")
}

/// Makes every table anew: its columns in another order, with others among them, declared as another type.
fn rebuilt(path: &Path, mut seed: u64) {
    let mut random = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % most
    };
    let connection = Connection::open(path).unwrap();
    let list = |query: &str, column: usize| -> Vec<String> {
        let mut statement = connection.prepare(query).unwrap();
        statement.query_map([], |row| row.get(column)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for table in list("SELECT name FROM sqlite_master WHERE type = 'table'", 0) {
        let mut columns = list(&format!("PRAGMA table_info({table})"), 1);
        for at in (1..columns.len()).rev() {
            columns.swap(at, random(at + 1));
        }
        let quoted: Vec<String> = columns.iter().map(|name| format!("\"{name}\"")).collect();
        let mut declared: Vec<String> = Vec::new();
        for name in &quoted {
            // Floating point does not hold the numbers of threads and processes.
            let types = if name.contains("lobal") || name.contains("utc") { 3 } else { 4 };
            declared.push(format!("{name} {}", ["INTEGER", "TEXT", "", "REAL"][random(types)]));
            if random(3) == 0 {
                declared.push(format!("other{} TEXT DEFAULT 'x'", declared.len()));
            }
        }
        let names = quoted.join(",");
        connection
            .execute_batch(&format!(
                "CREATE TABLE anew({}); INSERT INTO anew({names}) SELECT {names} FROM {table};
                 DROP TABLE {table}; ALTER TABLE anew RENAME TO {table};",
                declared.join(",")
            ))
            .unwrap();
    }
}

#[test]
fn columns_in_any_order_of_any_type_and_among_others() {
    let (_folder, path) = make(&newest());
    let plain = reported(&path);
    assert!(plain.contains("\"h2d\""));
    for seed in 1..=12 {
        let (_folder, path) = make(&newest());
        rebuilt(&path, seed);
        assert_eq!(reported(&path), plain, "seed {seed}");
    }
}

#[test]
fn pools_are_those_of_the_calls_that_events_name() {
    let script = format!(
        "{}
         INSERT INTO StringIds VALUES (40, 'cudaMemPoolCreate_v11020'), (41, 'cudaMallocFromPoolAsync_v11020'),
            (42, 'cudaMallocAsync_v11020'), (43, 'cudaMemPoolTrimTo_v11020'), (44, 'cudaMemPoolDestroy_v11020');
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
            (8000, 8100, 0, {main}, 50, 40, 0, NULL), (8200, 8300, 0, {main}, 51, 41, 0, NULL),
            (8400, 8500, 0, {main}, 52, 42, 0, NULL), (8600, 8700, 0, {main}, 53, 43, 0, NULL),
            (8800, 8900, 0, {main}, 54, 44, 0, NULL);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
            (8250, {pid}, 0, 1, 2097152, 0, 512, 2, 0, NULL, 51, 7, 7340032),
            (8450, {pid}, 0, 1, 3145728, 0, 256, 2, 0, NULL, 52, 7, NULL);
         CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER,
            operationType INTEGER, poolType INTEGER, correlationId INTEGER, minBytesToKeep INTEGER);
         INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES
            (8050, {pid}, 0, 7340032, 1, 1, 50, 0), (8650, {pid}, 0, 7340032, 3, 1, 53, 1024),
            (8850, {pid}, 0, 7340032, 2, 1, 54, 0), (9000, {pid}, 0, 99, 1, 1, 999, 0);",
        newest(),
        pid = PID,
        main = tid(4121),
    );
    let (_folder, path) = make(&script);
    let report = report(&path);
    let pools = report["memory"]["pools"].as_array().unwrap();
    let made = pools.iter().find(|pool| pool["origin"] == "created").unwrap();
    assert_eq!((&made["count"], &made["bytes"], &made["trims"]), (&json!(1), &json!(512), &json!(1)), "{pools:?}");
    assert!(pools.iter().any(|pool| pool["origin"] == "default" && pool["bytes"] == 256), "{pools:?}");
    let notes = report["trace"]["notes"].to_string();
    assert!(notes.contains("events of memory pools that no call is known of"), "{notes}");
}

#[test]
fn stacks_may_stand_in_rows_of_their_own() {
    let own = "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET callchainId = NULL WHERE eventClass = 0;";
    let (_folder, path) = make(&format!("{}{own}", newest()));
    let mut loaded = umtui::session::Loaded::load_all(&[path]).unwrap();
    let track = loaded.trace().tracks.iter().find(|track| track.thread == 4121).unwrap();
    let sites: Vec<_> = (0..).map_while(|row| track.call(row)).map(|call| (call.api, call.site)).collect();
    let launch = sites.iter().find(|(api, _)| loaded.trace().api_name(*api) == "cudaLaunchKernel").unwrap().1;
    assert!(loaded.site(launch).contains("train"), "{}", loaded.site(launch));
}

#[test]
fn an_export_says_what_its_numbers_mean() {
    let enums = "CREATE TABLE ENUM_CUPTI_SYNC_TYPE(id INTEGER, name TEXT, label TEXT);
         INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES (3, 'CUPTI_SYNC_TYPE_STREAM_SYNCHRONIZE', '');
         CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION(id INTEGER, name TEXT, label TEXT);
         INSERT INTO ENUM_CUDA_UNIF_MEM_MIGRATION VALUES (2, 'CUDA_UNIF_MEM_MIGRATION_CAUSE_EVICTION', ''),
            (1, 'CUDA_UNIF_MEM_MIGRATION_CAUSE_ACCESS_COUNTERS', ''), (4, 'CUDA_UNIF_MEM_MIGRATION_CAUSE_USER', '');";
    let (_folder, path) = make(&format!("{}{enums}", newest()));
    let causes = &report(&path)["migrations"]["by_cause"];
    assert_eq!((&causes["eviction"]["bytes"], &causes["user"]["bytes"]), (&json!(65_536), &json!(8192)), "{causes}");
}

#[test]
fn whose_memory_it_is_follows_from_there_being_one_process() {
    let without = "ALTER TABLE CUDA_GPU_MEMORY_USAGE_EVENTS DROP COLUMN globalPid;";
    let (_folder, path) = make(&format!("{}{without}", newest()));
    let report = report(&path);
    assert_eq!(report["trace"]["processes"], 1);
    assert_eq!((&report["allocations"]["count"], &report["allocations"]["peak_bytes"]), (&json!(2), &json!(204_096)));
}

#[test]
fn text_may_be_bound_as_bytes_and_views_are_named() {
    let odd = "UPDATE StringIds SET value = CAST(value AS BLOB);
         ALTER TABLE CUPTI_ACTIVITY_KIND_MEMSET RENAME TO sets;
         CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT * FROM sets;";
    let (_folder, path) = make(&format!("{}{odd}", newest()));
    let (_plain_folder, plain) = make(&newest());
    let (odd, plain) = (report(&path), report(&plain));
    assert_eq!((&odd["apis"], &odd["kernels"]), (&plain["apis"], &plain["kernels"]));
    assert_eq!(odd["sets"]["count"].as_u64().unwrap_or(0), 0);
    let notes = odd["trace"]["notes"].to_string();
    assert!(notes.contains("not read: CUPTI_ACTIVITY_KIND_MEMSET"), "{notes}");
}

#[test]
fn a_database_that_was_cut_off_is_read_as_far_as_it_goes() {
    let many = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, \"end\", eventClass, nameId, globalTid, correlationId)
         SELECT 1000000 + i, 1000001 + i, 0, 8, {}, 0 FROM n;",
        tid(4121)
    );
    let (_folder, path) = make(&format!("{}{many}", newest()));
    let whole = calls(&report(&path), "runtime");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() * 3 / 4]).unwrap();
    let part = report(&path);
    let calls = calls(&part, "runtime");
    assert!(calls > whole / 2 && calls < whole, "{calls} of {whole}");
    let damage = part["trace"]["damage"].to_string();
    assert!(part["trace"]["truncated"] == true && damage.contains("was cut off"), "{damage}");
}

#[test]
fn other_databases_are_named() {
    let (_folder, path) = make("CREATE TABLE customers(id INTEGER); CREATE TABLE orders(id INTEGER);");
    let out = Command::new(env!("CARGO_BIN_EXE_umtui")).arg("report").arg(&path).output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(error.contains("customers, orders") && error.trim_end().lines().count() == 1, "{error}");
}

/// A folder with a stand-in for `nsys` that exports by copying.
fn stand_in(folder: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join("nsys");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn reports_are_exported_where_nsys_is_and_said_otherwise() {
    let (folder, path) = make(&newest());
    let file = folder.path().join("a.nsys-rep");
    std::fs::write(&file, b"\x01\x02 what nobody knows").unwrap();
    let bin = tempfile::tempdir().unwrap();
    let run = |path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umtui"));
        command.args(["report", "--format", "json"]).arg(&file).env("PATH", path).output().unwrap()
    };
    let out = run("/nowhere");
    let error = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(error.contains("nsys export --type sqlite") && error.trim_end().lines().count() == 1, "{error}");
    let with = format!("{}:/usr/bin:/bin", bin.path().display());
    stand_in(bin.path(), "#!/bin/sh\necho no licence for this >&2; exit 3\n");
    let error = String::from_utf8(run(&with).stderr).unwrap();
    assert!(error.contains("no licence for this"), "{error}");
    // nsys export --type sqlite --force-overwrite true --output OUT REPORT
    stand_in(bin.path(), &format!("#!/bin/sh\ncp '{}' \"$7\"\n", path.display()));
    let out = run(&with);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((report["trace"]["format"].as_str(), sum(&report["kernels"], "launches")), (Some("nsys"), 2));
}

#[test]
fn packed_databases_are_copied_first() {
    let (folder, path) = make(&newest());
    let packed = folder.path().join("a.sqlite.gz");
    let gzip = Command::new("gzip").arg("-c").arg(&path).output().unwrap();
    std::fs::write(&packed, gzip.stdout).unwrap();
    let report = report(&packed);
    assert_eq!((report["trace"]["format"].as_str(), sum(&report["kernels"], "launches")), (Some("nsys"), 2));
}

#[test]
fn damaged_databases_are_read_as_far_as_they_go() {
    let (folder, path) = make(&newest());
    let whole = std::fs::read(&path).unwrap();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..40 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 5 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
            bytes[at] = (seed >> 20) as u8;
        }
        if round % 7 == 0 {
            bytes.truncate(usize::try_from(seed >> 40).unwrap() % whole.len() + 1);
        }
        let damaged = folder.path().join("damaged.sqlite");
        std::fs::write(&damaged, &bytes).unwrap();
        if let Err(error) = umtui::session::Loaded::load_all(&[damaged]) {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
}

/// Pools and graphs of which events tell more than calls, and ranges with payloads.
fn told() -> String {
    format!(
        "{}
         ALTER TABLE CUDA_GPU_MEMORY_USAGE_EVENTS ADD COLUMN localMemoryPoolSize INTEGER;
         ALTER TABLE CUDA_GPU_MEMORY_USAGE_EVENTS ADD COLUMN localMemoryPoolUtilizedSize INTEGER;
         ALTER TABLE CUDA_GPU_MEMORY_USAGE_EVENTS ADD COLUMN localMemoryPoolReleaseThreshold INTEGER;
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES
            (8250, {pid}, 0, 1, 2097152, 0, 512, 2, 0, NULL, 51, 7, 7340032, 33554432, 512, -1),
            (8450, {pid}, 0, 1, 3145728, 0, 256, 2, 0, NULL, 52, 7, 7340032, 33554432, 768, 0),
            (8460, {pid}, 0, 1, 4145728, 0, 256, 2, 0, NULL, 52, 7, NULL, 0, 0, 0);
         CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS(start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER,
            operationType INTEGER, poolType INTEGER, correlationId INTEGER, minBytesToKeep INTEGER,
            localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER);
         INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES
            (8050, {pid}, 0, 7340032, 1, 1, 50, 0, 0, 0, 0), (8650, {pid}, 0, 7340032, 3, 1, 53, 1024, NULL, 1024, 0),
            (NULL, {pid}, 0, 7340032, 3, 1, 54, 1024, NULL, NULL, NULL);
         INSERT INTO StringIds VALUES (60, 'kernel node'), (61, '{{\"bytes\": 4096, \"peer\": 3}}'), (62, 'graph made');
         CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
            nameId INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER);
         INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (8700, 8700, 77, {main}, 60, 12884901889, NULL),
            (8710, 8720, 77, {worker}, 60, 12884901890, 12884901889), (NULL, NULL, 77, {main}, 60, 1, NULL);
         CREATE TABLE CUDA_GRAPH_EVENTS(start INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER, graphId INTEGER);
         INSERT INTO CUDA_GRAPH_EVENTS VALUES (8690, 76, {main}, 62, 3);
         ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT;
         ALTER TABLE NVTX_EVENTS ADD COLUMN binaryData TEXT;
         INSERT INTO NVTX_EVENTS VALUES
            (8800, 8810, 59, NULL, 5, NULL, 'send', {main}, NULL, NULL, 0, NULL, 61, NULL, NULL),
            (8820, 8830, 59, NULL, NULL, NULL, 'note', {main}, NULL, NULL, 0, NULL, NULL, 'no object', '0a0b'),
            (8840, NULL, 34, NULL, NULL, NULL, 'mark', {main}, NULL, NULL, 0, NULL, NULL, '{{\"a\": [1, 2]}}', NULL);",
        newest(),
        pid = PID,
        main = tid(4121),
        worker = tid(4125),
    )
}

fn exported(path: &Path) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_umtui"))
        .args(["export", "--format", "text", "-o", "-"])
        .arg(path)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn sizes_of_pools_are_counters_as_the_database_has_them() {
    let (_folder, path) = make(&told());
    // What SQLite itself says, with unsigned numbers as they were.
    let connection = Connection::open(&path).unwrap();
    let series = |column: &str| -> Vec<u64> {
        let query = format!(
            "SELECT value FROM (SELECT start, {column} AS value FROM CUDA_GPU_MEMORY_POOL_EVENTS UNION ALL
             SELECT start, {column} FROM CUDA_GPU_MEMORY_USAGE_EVENTS WHERE localMemoryPoolAddress IS NOT NULL)
             WHERE value IS NOT NULL ORDER BY start"
        );
        let mut statement = connection.prepare(&query).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        rows.map(|value| value.unwrap() as u64).collect()
    };
    let columns = [
        ("in use", "localMemoryPoolUtilizedSize"),
        ("release threshold", "localMemoryPoolReleaseThreshold"),
        ("size", "localMemoryPoolSize"),
    ];
    let report = report(&path);
    let rows = report["counters"].as_array().unwrap();
    assert_eq!(rows.len(), columns.len(), "{rows:?}");
    for (row, (name, column)) in rows.iter().zip(columns) {
        let values = series(column);
        assert_eq!((&row["counter"], &row["series"]), (&json!("memory pool 0x700000"), &json!(name)));
        assert_eq!((&row["samples"], &row["process"]), (&json!(values.len()), &json!(4121)));
        let known = [values.first(), values.last(), values.iter().min(), values.iter().max()].map(|value| json!(value));
        assert_eq!(["first", "last", "min", "max"].map(|key| row[key].clone()), known, "{name}");
    }
    assert_eq!(rows[1]["max"], json!(u64::MAX), "a pool that keeps everything");
    // The calls have what they had without.
    assert!(report["memory"]["pools"].is_array());
    let without = "DROP TABLE CUDA_GPU_MEMORY_POOL_EVENTS; ALTER TABLE CUDA_GPU_MEMORY_USAGE_EVENTS DROP COLUMN localMemoryPoolSize;";
    let (_folder, path) = make(&(told() + without));
    let series: Vec<String> =
        self::report(&path)["counters"].as_array().unwrap().iter().map(|row| row["series"].to_string()).collect();
    assert_eq!(series, ["\"in use\"", "\"release threshold\""]);
}

#[test]
fn nodes_of_graphs_and_payloads_are_shown() {
    let (_folder, path) = make(&told());
    let text = exported(&path);
    let line = |with: &str| {
        let mut lines = text.lines().filter(|line| line.contains(with));
        let line = lines.next().unwrap_or_else(|| panic!("{with}: {text}"));
        assert_eq!(lines.next(), None, "{with}");
        line.to_owned()
    };
    for (with, also) in [
        ("mark <0> name=\"kernel node\" domain=\"graph node\"", "payload=0x300000001"),
        (
            "start <10> name=\"kernel node\"",
            r#"said="{\"graphNodeId\": 12884901890, \"originalGraphNodeId\": 12884901889}""#,
        ),
        ("name=\"graph made\" domain=\"graph\"", "payload=0x3"),
        ("name=\"send\"", r#"category=5 said="{\"bytes\": 4096, \"peer\": 3}""#),
        ("name=\"note\"", r#"said="no object""#),
        ("name=\"mark\"", r#"said="{\"a\": [1, 2]}""#),
    ] {
        assert!(line(with).contains(also), "{also}: {}", line(with));
    }
    let report = report(&path);
    let notes = report["trace"]["notes"].to_string();
    assert!(
        notes.contains("payloads of ranges in binary: 1") && !notes.contains("creations of graph nodes"),
        "{notes}"
    );
    assert!(report["trace"]["damage"].to_string().contains("rows without a time"), "{}", report["trace"]["damage"]);
}
