//! Processes and threads of an input.

use super::binding::Binding;
use super::correlations::Correlations;
use super::identity::{Key, Numbers};
use super::repairs::{Place, Repair};
use super::target::Target;
use crate::trace::activity::Device;
use std::collections::BTreeMap;
use std::io;

/// Processes of an input at most: each is a file that stays open.
const PROCESSES: usize = 400;
/// Threads of an input at most.
pub const THREADS: u32 = 200_000;

const TOO_MANY_PROCESSES: Repair = Repair::Mended("processes beyond 400, put together in the last");
const TOO_MANY_THREADS: Repair = Repair::Mended("threads beyond 200,000, put together in the last");

/// A process of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process(pub(super) u32);
/// A thread of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(pub(super) u32);
#[derive(Default)]
pub(super) struct ProcessState {
    pub(super) key: Option<Key>,
    pub(super) name: String,
    pub(super) host: String,
    pub(super) folder: String,
    pub(super) arguments: Vec<String>,
    pub(super) rank: Option<u32>,
    pub(super) local_rank: Option<u32>,
    pub(super) parent: u32,
    /// Where it belongs to.
    pub(super) within: Option<u32>,
    pub(super) binding: Option<Binding>,
    pub(super) correlations: Correlations,
    pub(super) numbers: Numbers,
    pub(super) devices: BTreeMap<u16, (String, Device)>,
    pub(super) ids: u64,
    /// The thread that its counters are shown as.
    pub(super) counters: Option<Thread>,
}

pub(super) struct ThreadState {
    pub(super) process: u32,
    pub(super) key: Key,
    pub(super) name: String,
}

impl Target {
    /// The process that the input calls `key`.
    pub fn process(&mut self, key: &Key) -> Process {
        if let Some(&known) = self.process_handles.get(key) {
            return Process(known);
        }
        if self.processes.len() >= PROCESSES {
            self.repairs.add(TOO_MANY_PROCESSES, 1, Place::Nowhere);
            return Process((PROCESSES - 1) as u32);
        }
        let process = self.nameless_process();
        self.process_handles.insert(key.clone(), process.0);
        if let Some(state) = self.processes.get_mut(process.0 as usize) {
            state.key = Some(key.clone());
        }
        process
    }

    /// A process of which it is not known yet which one it is: [`Target::merge`] may say so.
    pub fn nameless_process(&mut self) -> Process {
        self.processes.push(ProcessState::default());
        Process((self.processes.len() - 1) as u32)
    }

    /// Everything of `part` belongs to `whole`, which is called as `part` is, unless it has a key of its own.
    pub fn merge(&mut self, part: Process, whole: Process) {
        if part == whole {
            return;
        }
        let Some(state) = self.processes.get_mut(part.0 as usize) else { return };
        state.within = Some(whole.0);
        let (key, name) = (state.key.clone(), state.name.clone());
        if let Some(whole) = self.processes.get_mut(whole.0 as usize)
            && whole.key.is_none()
        {
            (whole.key, whole.name) = (key, name);
        }
    }

    /// Names a process: its program.
    pub fn process_name(&mut self, process: Process, name: &str) {
        self.with(process, |state| name.clone_into(&mut state.name));
    }

    /// The host that a process ran on.
    pub fn host(&mut self, process: Process, host: &str) {
        self.with(process, |state| host.clone_into(&mut state.host));
    }

    /// Its working folder and arguments.
    pub fn command(&mut self, process: Process, folder: &str, arguments: &[String]) {
        self.with(process, |state| {
            folder.clone_into(&mut state.folder);
            arguments.clone_into(&mut state.arguments);
        });
    }

    /// Its rank in a parallel job, and on its host.
    pub fn rank(&mut self, process: Process, rank: Option<u32>, local_rank: Option<u32>) {
        self.with(process, |state| (state.rank, state.local_rank) = (rank, local_rank));
    }

    /// Its parent's number.
    pub fn parent(&mut self, process: Process, parent: u32) {
        self.with(process, |state| state.parent = parent);
    }

    /// A device of a process.
    pub fn device(&mut self, process: Process, number: u16, name: &str, device: &Device) {
        self.with(process, |state| {
            state.devices.insert(number, (name.to_owned(), device.clone()));
        });
    }

    fn with(&mut self, process: Process, change: impl FnOnce(&mut ProcessState)) {
        if let Some(state) = self.processes.get_mut(process.0 as usize) {
            change(state);
        }
    }

    /// The thread that the input calls `key`.
    pub fn thread(&mut self, process: Process, key: &Key) -> Thread {
        match self.thread_handles.of((process.0, key.clone())) {
            Some((handle, true)) => {
                self.threads.push(ThreadState { process: process.0, key: key.clone(), name: String::new() });
                Thread(handle)
            }
            Some((handle, false)) => Thread(handle),
            None => {
                self.repairs.add(TOO_MANY_THREADS, 1, Place::Nowhere);
                Thread(THREADS - 1)
            }
        }
    }

    /// Names a thread.
    pub fn thread_name(&mut self, thread: Thread, name: &str) {
        if let Some(state) = self.threads.get_mut(thread.0 as usize) {
            name.clone_into(&mut state.name);
        }
    }

    /// Index of the process that has the file of this one.
    pub(super) fn bound(&mut self, process: Process) -> io::Result<Option<usize>> {
        let at = process.0 as usize;
        let within = self.processes.get(at).and_then(|state| state.within);
        let at = within.map_or(at, |at| at as usize);
        let Some(state) = self.processes.get_mut(at) else { return Ok(None) };
        if state.binding.is_none() {
            state.binding = Some(Binding::new((self.spool)()?)?);
        }
        Ok(Some(at))
    }
}
