//! The one model of a filter, whichever spelling it was read from.
//!
//! A condition is asked of one event: a call, a piece of the GPU's work, a migration or fault, an allocation's event, a
//! mark or range. What an event has not got (a call has no cause, a migration no thread) matches no pattern and no
//! comparison, so `Not` of it holds.

/// What is asked of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// All of these hold; holds if there are none.
    All(Vec<Condition>),
    /// At least one of these holds; does not hold if there are none.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A name or number of the event fits the pattern.
    Text(TextField, Pattern),
    /// A quantity of the event compares so.
    Number(NumberField, Comparison, u64),
    /// The event is about bytes in this range of addresses, both included: an argument, an allocation, a migrated or
    /// faulting range overlaps it.
    Address(u64, u64),
    /// The call returned an error other than "not ready".
    Failed,
    /// It holds for a call that the event lies in: one that encloses it on its thread, or that submitted it.
    ChildrenOf(Box<Condition>),
    /// It holds for a call that lies in the event, or for work that it submitted.
    CallersOf(Box<Condition>),
}

/// What a [`Condition::Text`] looks at. GPU work that is tied to the call that submitted it has that call's thread,
/// site, range and API besides its own stream, device and kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TextField {
    /// Function name.
    Api,
    /// `runtime`, `driver` or `gpu`.
    Layer,
    /// Thread name; its number if the pattern is one.
    Thread,
    /// Program name; process id if the pattern is a number.
    Process,
    /// Rank as the launcher numbered it.
    Rank,
    /// Host name.
    Host,
    /// Stream name or number; `default` for the legacy and per-thread default streams.
    Stream,
    /// Device number, or its name.
    Device,
    /// Name of the kernel, or of one that the call launched; as shown or as mangled.
    Kernel,
    /// A range (NVTX) that the event lies in, innermost or not; a mark's or range's own text.
    Range,
    /// `function`, `file:line` or `library` of the code that called.
    Site,
    /// An allocation the event is about: an address in it if the pattern is a number, else its kind, the function that
    /// made it, or the code that called that.
    Allocation,
    /// `call`, `kernel`, `copy`, `set`, `migration`, `fault`, `managed`, `device`, `host`, ...: the event's kind, a copy's
    /// direction, and the kind of memory that it is about.
    Kind,
    /// Why memory migrated: `coherence`, `prefetch`, `user`, `eviction`, `access-counters`.
    Cause,
    /// Name or number of what a call returned.
    Result,
}

/// What a [`Condition::Number`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NumberField {
    /// Bytes allocated, copied, set, migrated.
    Size,
    /// From begin to end, ns.
    Duration,
    /// Begin, ns since the trace began.
    Time,
}

/// How a [`Condition::Number`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    More,
}

/// What a [`Condition::Text`] compares with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The whole text, where `*` stands for any characters and `?` for one, without regard to case in ASCII.
    Glob(String),
    /// A regular expression that is found somewhere in the text.
    Regex(String),
}
