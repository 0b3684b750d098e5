//! Ids: small numbers that stand for the things of a trace.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            /// As an index into the trace's list of them.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A process, that is, one recorded file.
    ProcessId(u16)
}
id! {
    /// A thread of a process.
    TrackId(u32)
}
id! {
    /// A CUDA function with one signature.
    ApiId(u16)
}
id! {
    /// A call site.
    SiteId(u32)
}
id! {
    /// A stream; [`StreamId::NONE`] for calls that take none.
    StreamId(u16)
}
id! {
    /// An interned name.
    NameId(u32)
}
id! {
    /// A mapped module of a process.
    ModuleId(u32)
}

impl StreamId {
    /// The call takes no stream.
    pub const NONE: Self = Self(u16::MAX);
    /// Streams beyond the 65,000 that are told apart; programs that create one for each step have them.
    pub const OTHER: Self = Self(u16::MAX - 1);
}

impl Default for NameId {
    fn default() -> Self {
        Self::NONE
    }
}

impl NameId {
    /// The empty name.
    pub const NONE: Self = Self(0);
}
