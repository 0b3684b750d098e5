//! A session with its thread: the screens ask, the thread reads and answers in turn.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::child::ChildControl;
use super::engine::Engine;
use super::handle::{Answers, Child, Handle};
use super::metrics::Metrics;
use super::nvml;
use super::sampler::Sampler;
use super::view::{Phase, ViewRequest};
use super::watching::Watching;
use crate::parse::ParseError;
use crate::symbols::{SIDE_FILE, Symbols};

/// Longest time that reading or looking for events takes before it is the other's turn.
const BATCH: Duration = Duration::from_millis(4);
/// Time between two looks at files that are being written. Polling is the guarantee: mapped writes cause no event, but
/// for the nudges of the hook.
const LIVE_PAUSE: Duration = Duration::from_millis(20);
/// Likewise at files that nobody is known to write.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// Work that takes less was none.
const NOTHING: Duration = Duration::from_micros(500);
/// Time between two answers to one request that the thread gives of itself.
const AGAIN: Duration = Duration::from_millis(50);
/// How long names for the side file are waited for when the session ends before they have been looked up.
const NAMING: Duration = Duration::from_secs(2);

/// A session whose thread runs until this is dropped.
pub struct Session {
    shared: Arc<Shared>,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
    /// Ends with the session.
    _watching: Option<Watching>,
}

/// What both sides see.
#[derive(Default)]
struct Shared {
    request: Mutex<Option<ViewRequest>>,
    child: Mutex<Option<Child>>,
}

/// What the thread is woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Asked,
    /// A file or folder has changed.
    Changed,
    Detach,
    Terminate,
    Stop,
}

impl Session {
    /// Opens traces: files, and folders of runs with all their files, those to come included. With a child, the first
    /// path is the folder that it is recorded into. Answers go to `answers`, from the session's thread.
    ///
    /// # Errors
    /// When a path cannot be read, or no thread can be started.
    pub fn open(paths: &[PathBuf], child: Option<Box<dyn ChildControl>>, answers: Answers) -> Result<Self, OpenError> {
        let symbols = Symbols::with_thread()?;
        let side_file = child.as_ref().and(paths.first()).map(|folder| folder.join(SIDE_FILE));
        let mut engine = Engine::new(paths, child, symbols)?;
        engine.sampler = Some(Sampler::new(nvml::open));
        engine.feed.see_beginnings();
        let shared = Arc::new(Shared { child: Mutex::new(engine.child_state()), ..Shared::default() });
        let (orders, received) = channel();
        let thread = Worker {
            engine,
            shared: shared.clone(),
            orders: received,
            answers,
            side_file,
            last: None,
            again: None,
            told: None,
            soon: None,
            metrics: Metrics::from_environment(),
        };
        let thread = std::thread::Builder::new().name("session".into()).spawn(move || thread.run())?;
        let change = orders.clone();
        let watching = Watching::start(paths, move || change.send(Order::Changed).is_ok());
        Ok(Self { shared, orders, thread: Some(thread), _watching: watching })
    }

    fn order(&self, order: Order) {
        // A thread that has ended does nothing more, whatever it is told.
        let _ = self.orders.send(order);
    }
}

/// Why a session could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The system would not give a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl Handle for Session {
    fn ask(&self, request: ViewRequest) {
        *lock(&self.shared.request) = Some(request);
        self.order(Order::Asked);
    }

    fn child(&self) -> Option<Child> {
        *lock(&self.shared.child)
    }

    fn detach(&self) {
        self.order(Order::Detach);
    }

    fn terminate(&self) {
        self.order(Order::Terminate);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            // Orders before this one (to detach, say) are done when the thread has ended.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's side.
struct Worker {
    engine: Engine,
    shared: Arc<Shared>,
    orders: Receiver<Order>,
    answers: Answers,
    /// Where names go when the child has ended, until they have gone there.
    side_file: Option<PathBuf>,
    /// The newest request that was answered, with the epoch of the answer.
    last: Option<(ViewRequest, u64, bool)>,
    /// When that may be answered again.
    again: Option<Instant>,
    /// The search whose match was told at once.
    told: Option<u64>,
    /// The request whose picture was told at once when it was whole.
    soon: Option<u64>,
    metrics: Option<Metrics>,
}

impl Worker {
    fn run(mut self) {
        loop {
            let more = self.engine.step(Instant::now() + BATCH);
            if let Some(metrics) = &mut self.metrics {
                metrics.read(&self.engine.model.trace);
            }
            *lock(&self.shared.child) = self.engine.child_state();
            let begun = Instant::now();
            let request = lock(&self.shared.request).take();
            if let Some(request) = request {
                self.answer(request);
            } else {
                self.search();
                self.answer_again();
            }
            // A lens goes on between two answers.
            if self.last.is_some() && self.engine.work(Instant::now() + BATCH) {
                self.answer_soon();
            }
            self.keep_names();
            let unfinished = self.last.as_ref().is_some_and(|(.., complete)| !complete);
            // What is unfinished may wait for its time to come.
            let rests = begun.elapsed() < NOTHING;
            let pause = match (more, unfinished) {
                (false, true) if rests => Some(BATCH),
                (false, false) => self.pause(),
                _ => Some(Duration::ZERO),
            };
            if !self.wait(pause) {
                break;
            }
        }
        self.keep_names_now();
        if let Some(metrics) = self.metrics.take() {
            metrics.finish();
        }
    }

    fn pause(&self) -> Option<Duration> {
        match self.engine.phase() {
            Phase::Live | Phase::Opening(_) => Some(LIVE_PAUSE),
            Phase::Waiting => Some(IDLE_PAUSE),
            // Names may still come.
            Phase::Ended if self.engine.model.symbols.waits() => Some(AGAIN),
            Phase::Ended if self.engine.feed.may_grow() => Some(IDLE_PAUSE),
            Phase::Ended => None,
        }
    }

    /// Waits for orders and does them; false when it is time to stop.
    fn wait(&mut self, pause: Option<Duration>) -> bool {
        let mut order = match pause {
            None => self.orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(pause) => self.orders.recv_timeout(pause),
        };
        loop {
            match order {
                Ok(Order::Asked | Order::Changed) => {}
                Ok(Order::Detach) => self.engine.child.iter_mut().for_each(|child| child.detach()),
                Ok(Order::Terminate) => self.engine.child.iter_mut().for_each(|child| child.terminate()),
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => return true,
            }
            order = self.orders.try_recv().map_err(|error| match error {
                std::sync::mpsc::TryRecvError::Empty => RecvTimeoutError::Timeout,
                std::sync::mpsc::TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
    }

    fn answer(&mut self, request: ViewRequest) {
        let (answer, complete) = self.engine.answer(&request, Instant::now() + BATCH);
        self.again = Some(Instant::now() + AGAIN);
        self.last = Some((request, answer.epoch, complete));
        (self.answers)(answer);
        if let Some(metrics) = &mut self.metrics {
            metrics.answered(&self.engine.model.trace);
        }
    }

    /// Goes on with what is looked for; what is found is told at once.
    fn search(&mut self) {
        let Some((request, _, false)) = &self.last else { return };
        let Some(answer) = self.engine.search(request, Instant::now() + BATCH) else { return };
        let id = answer.found.map(|_| answer.id);
        if answer.share.is_none() || (id.is_some() && id != self.told) {
            self.told = id;
            self.again = None;
        }
    }

    /// What has become whole is shown at once, but of what grows not again and again.
    fn answer_soon(&mut self) {
        let id = self.last.as_ref().map(|(request, ..)| request.id);
        if self.soon != id {
            (self.soon, self.again) = (id, None);
        }
    }

    /// A live screen asks again by itself. What comes late to an ended trace (names, events still looked for) is told
    /// without being asked.
    fn answer_again(&mut self) {
        let now = Instant::now();
        if self.again.is_some_and(|again| now < again) {
            return;
        }
        let ended = matches!(self.engine.phase(), Phase::Ended | Phase::Waiting);
        let stale = |epoch: u64, complete: bool| !complete || (ended && epoch != self.engine.epoch());
        if let Some((request, ..)) = self.last.take_if(|(_, epoch, complete)| stale(*epoch, *complete)) {
            self.answer(request);
        }
    }

    /// Writes the names into the recording once the child has ended and they have been looked up.
    fn keep_names(&mut self) {
        if self.engine.phase() != Phase::Ended || self.side_file.is_none() {
            return;
        }
        let model = &mut self.engine.model;
        model.symbols.ask_all(&model.trace);
        if !model.symbols.waits() {
            self.write_names();
        }
    }

    /// Likewise when the session ends, with what can be looked up in a moment.
    fn keep_names_now(&mut self) {
        if self.side_file.is_none() {
            return;
        }
        let until = Instant::now() + NAMING;
        let model = &mut self.engine.model;
        model.symbols.ask_all(&model.trace);
        while model.symbols.waits() && Instant::now() < until {
            model.symbols.poll();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.write_names();
    }

    fn write_names(&mut self) {
        if let Some(path) = self.side_file.take() {
            // The recording is whole without it, and there is nobody to tell.
            let _ = self.engine.model.symbols.write_side_file(&path);
        }
    }
}
