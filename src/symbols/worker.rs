//! The thread that looks into debug information.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::{Place, Resolver, Symbol};

/// Asks and answers of the thread. It ends when this is dropped, after the place it is at.
#[derive(Debug)]
pub(super) struct Worker {
    asks: Sender<Place>,
    answers: Receiver<(Place, Option<Symbol>)>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(super) fn start() -> io::Result<Self> {
        let (asks, asked) = channel::<Place>();
        let (answer, answers) = channel();
        let thread = std::thread::Builder::new().name("symbols".into()).spawn(move || {
            let resolver = Resolver::new();
            for place in asked {
                let symbol = resolver.resolve(&place);
                if answer.send((place, symbol)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { asks, answers, thread })
    }

    /// Asks; false if the thread is gone: the fallback stays then.
    pub(super) fn ask(&self, place: Place) -> bool {
        self.asks.send(place).is_ok()
    }

    /// Whether the thread is gone although it should not be.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    pub(super) fn answer(&self) -> Option<(Place, Option<Symbol>)> {
        self.answers.try_recv().ok()
    }
}
