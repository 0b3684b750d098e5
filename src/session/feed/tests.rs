//! Large imports, whose beginning is seen while the rest is read.

use super::*;
use crate::parse::sniff::Format;
use crate::session::engine::Engine;
use crate::session::view::Phase;
use crate::symbols::Symbols;
use std::fmt::Write as _;
use std::io;
use std::sync::{Condvar, Mutex};

/// Calls in the input, and about how many of them are in its beginning.
const CALLS: u64 = 4000;

/// A trace of Chrome's form, with calls one after another.
fn json() -> Vec<u8> {
    let mut text = "{\"traceEvents\":[".to_owned();
    for call in 0..CALLS {
        let (name, at) = (["cudaMalloc", "cudaFree", "cudaLaunchKernel"][call as usize % 3], 10 * call);
        let comma = if call == 0 { "" } else { ",\n" };
        write!(
            text,
            "{comma}{{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"{name}\",\"pid\":7,\"tid\":8,\"ts\":{at},\"dur\":5}}"
        )
        .unwrap();
    }
    text.push_str("]}");
    text.into_bytes()
}

/// Bytes of which only the first can be read until they are let go.
struct Gate {
    bytes: Vec<u8>,
    first: u64,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn new(bytes: Vec<u8>, first: u64) -> Arc<Self> {
        Arc::new(Self { bytes, first, open: Mutex::new(false), opened: Condvar::new() })
    }

    fn let_go(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl Bytes for Gate {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset + buffer.len() as u64 > self.first {
            let closed = self.open.lock().unwrap();
            drop(self.opened.wait_while(closed, |open| !*open).unwrap());
        }
        self.bytes.as_slice().read_at(offset, buffer)
    }
}

fn engine() -> Engine {
    Engine::new(&[], None, Symbols::default()).unwrap()
}

fn importing(bytes: Arc<dyn Bytes>, lengths: &[u64]) -> Importing {
    Importing::with_beginnings(bytes, Format::Json, "big.json", lengths).unwrap()
}

fn until(engine: &mut Engine, done: impl Fn(&Engine) -> bool) {
    let begun = Instant::now();
    while !done(engine) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing came: {:?}", engine.feed.failures());
        engine.step(Instant::now() + Duration::from_millis(4));
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What is seen of calls: how many, and names.
fn seen(engine: &Engine) -> (u64, usize, Vec<String>) {
    let trace = &engine.model.trace;
    let apis = trace.apis.iter().map(|api| trace.names.get(api.name).to_owned()).collect();
    (engine.model.tree.calls(), trace.processes.len(), apis)
}

#[test]
fn the_beginning_is_seen_first_and_everything_after() {
    let mut whole = engine();
    whole.feed.imports.add(importing(Arc::new(json()), &[]));
    until(&mut whole, |engine| engine.phase() == Phase::Ended);
    assert_eq!(whole.model.tree.calls(), CALLS);

    let gate = Gate::new(json(), 64 << 10);
    let mut engine = engine();
    engine.feed.see_beginnings();
    engine.feed.imports.add(importing(gate.clone(), &[8 << 10, 64 << 10]));
    until(&mut engine, |engine| engine.feed.begun() == Some(8 << 10) && engine.model.tree.calls() > 0);
    let (first, processes, _) = seen(&engine);
    assert!((80..100).contains(&first) && processes == 1, "{first} calls of {processes} processes in 8 KiB");
    assert!(matches!(engine.phase(), Phase::Opening(_)));
    assert_eq!(engine.model.trace.damage.len(), 0, "where it is cut nothing is damaged");
    let before = engine.epoch();

    until(&mut engine, |engine| engine.feed.begun() == Some(64 << 10) && engine.model.tree.calls() > first);
    assert!(engine.model.tree.calls() < CALLS / 4 && engine.epoch() > before);
    let before = engine.epoch();

    gate.let_go();
    until(&mut engine, |engine| engine.phase() == Phase::Ended);
    assert_eq!(engine.feed.begun(), None);
    assert_eq!(seen(&engine), seen(&whole));
    assert!(engine.epoch() > before);
    assert_eq!((engine.feed.files(), engine.model.files.len(), engine.model.trace.files.len()), (1, 1, 1));
}

#[test]
fn what_is_cut_off_later_leaves_its_beginning() {
    struct Broken(Arc<Gate>);
    impl Bytes for Broken {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read_at(offset, buffer)?;
            if offset + read as u64 > self.0.first { Err(io::Error::other("the disk is broken")) } else { Ok(read) }
        }
    }
    let gate = Gate::new(json(), 16 << 10);
    let mut engine = engine();
    engine.feed.see_beginnings();
    engine.feed.imports.add(importing(Arc::new(Broken(gate.clone())), &[8 << 10]));
    until(&mut engine, |engine| engine.feed.begun() == Some(8 << 10) && engine.model.tree.calls() > 0);
    gate.let_go();
    until(&mut engine, |engine| engine.phase() == Phase::Ended);
    assert!((80..100).contains(&engine.model.tree.calls()) && engine.feed.begun() == Some(8 << 10));
    assert!(engine.feed.failures()[0].contains("the disk is broken"), "{:?}", engine.feed.failures());
}

#[test]
fn nothing_is_seen_early_where_it_could_not_be_read_anew() {
    let gate = Gate::new(json(), 64 << 10);
    let mut engine = engine();
    engine.feed.see_beginnings();
    // A recording was read beside it.
    engine.feed.only_imports = false;
    engine.feed.imports.add(importing(gate.clone(), &[8 << 10]));
    let begun = Instant::now();
    until(&mut engine, |_| begun.elapsed() > Duration::from_millis(150));
    assert_eq!((engine.feed.begun(), engine.model.tree.calls()), (None, 0));
    gate.let_go();
    until(&mut engine, |engine| engine.phase() == Phase::Ended);
    assert_eq!(engine.model.tree.calls(), CALLS);
}

#[test]
fn inputs_are_told_in_the_order_in_which_they_were_named() {
    let slow = Gate::new(json(), 64);
    let mut engine = engine();
    engine.feed.imports.add(importing(slow.clone(), &[]));
    engine.feed.imports.add(Importing::start(Arc::new(json()), Format::Json, "quick.json").unwrap());
    let begun = Instant::now();
    until(&mut engine, |_| begun.elapsed() > Duration::from_millis(300));
    assert_eq!((engine.model.trace.files.len(), engine.feed.imports()), (0, true));
    slow.let_go();
    until(&mut engine, |engine| engine.phase() == Phase::Ended);
    assert_eq!(engine.model.trace.files, ["big.json", "quick.json"]);
}
