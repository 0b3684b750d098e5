//! What takes long and is made in a thread of its own, from what does not change meanwhile.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// What has stayed the same for so long does not grow.
const STILL: Duration = Duration::from_millis(300);

/// Whether something still grows: what is made of it again and again then waits for its turn.
#[derive(Debug)]
pub(in crate::session) struct Growing<K> {
    of: Option<(K, Instant)>,
}

impl<K> Default for Growing<K> {
    fn default() -> Self {
        Self { of: None }
    }
}

impl<K: PartialEq> Growing<K> {
    /// Whether it has changed of late; it is now this.
    pub(in crate::session) fn is(&mut self, of: K, now: Instant) -> bool {
        match &self.of {
            Some((known, since)) if *known == of => now.saturating_duration_since(*since) < STILL,
            _ => {
                self.of = Some((of, now));
                true
            }
        }
    }
}

/// A value, what it was made for, and the one that is being made.
#[derive(Debug)]
pub(in crate::session) struct Later<K, T> {
    known: Option<(K, T)>,
    making: Option<(K, Receiver<T>)>,
}

impl<K, T> Default for Later<K, T> {
    fn default() -> Self {
        Self { known: None, making: None }
    }
}

impl<K: PartialEq, T: Send + 'static> Later<K, T> {
    /// Makes it for this key if it is of another one, and waits for it until `until`. True if it is there. What is being
    /// made is not given up for another key: whoever asks for ever new ones still sees some.
    pub(in crate::session) fn update(
        &mut self,
        key: K,
        until: Instant,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> bool {
        if self.known.as_ref().is_some_and(|(known, _)| *known == key) {
            return true;
        }
        if self.making.is_some() && !self.wait(until) {
            return false;
        }
        if self.known.as_ref().is_some_and(|(known, _)| *known == key) {
            return true;
        }
        let (give, take) = sync_channel(1);
        // Nobody waits for it any more if the session has ended.
        let work = move || drop(give.send(make()));
        if std::thread::Builder::new().name("memory".into()).spawn(work).is_ok() {
            self.making = Some((key, take));
        }
        self.wait(until)
    }

    /// Likewise what takes no time.
    pub(in crate::session) fn update_now(&mut self, key: K, make: impl FnOnce() -> T) {
        if self.known.as_ref().is_none_or(|(known, _)| *known != key) {
            self.making = None;
            self.known = Some((key, make()));
        }
    }

    /// The newest that has been made, to keep.
    pub(in crate::session) fn take(&mut self) -> Option<T> {
        self.known.take().map(|(_, value)| value)
    }

    /// The newest that has been made.
    pub(in crate::session) fn get(&self) -> Option<&T> {
        self.known.as_ref().map(|(_, value)| value)
    }

    /// Whether one is being made.
    pub(in crate::session) const fn is_making(&self) -> bool {
        self.making.is_some()
    }

    /// What that was made for.
    pub(in crate::session) fn key(&self) -> Option<&K> {
        self.known.as_ref().map(|(key, _)| key)
    }

    /// Waits until `until` for what is being made; false if it is not there yet, or will never be.
    pub(in crate::session) fn wait(&mut self, until: Instant) -> bool {
        let Some((key, take)) = self.making.take() else { return false };
        match take.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(value) => {
                self.known = Some((key, value));
                true
            }
            Err(RecvTimeoutError::Timeout) => {
                self.making = Some((key, take));
                false
            }
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn what_stays_as_it_is_does_not_grow() {
        let (mut growing, begun) = (Growing::default(), Instant::now());
        assert!(growing.is(1, begun) && growing.is(1, begun + STILL / 2));
        assert!(!growing.is(1, begun + STILL));
        assert!(growing.is(2, begun + STILL) && !growing.is(2, begun + STILL * 2));
    }

    #[test]
    fn what_is_being_made_is_waited_for_and_then_the_next_is_made() {
        let mut later: Later<u32, u32> = Later::default();
        let (go, wait) = channel::<()>();
        let soon = || Instant::now() + Duration::from_secs(60);
        assert!(!later.update(1, Instant::now(), move || wait.recv().map_or(0, |()| 10)));
        // Another key does not begin while that is being made.
        assert!(!later.update(2, Instant::now(), || 20));
        assert_eq!(later.get(), None);
        go.send(()).unwrap();
        assert!(later.update(1, soon(), || unreachable!()));
        assert_eq!((later.get(), later.key()), (Some(&10), Some(&1)));
        assert!(later.update(2, soon(), || 20));
        assert_eq!(later.get(), Some(&20));
        later.update_now(3, || 30);
        assert_eq!(later.get(), Some(&30));
    }
}
