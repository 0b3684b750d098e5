//! CUDA functions as a trace knows them.

use super::ids::NameId;
use super::semantics::Semantics;
use super::value::{ArgKind, Value};
use umtui_wire::table::Layer;

/// A CUDA function with one signature. Two majors of libcudart may give one name two signatures; they are two.
#[derive(Clone, Debug, PartialEq)]
pub struct Api {
    /// Exported name, suffixes included; `api#12` while its definition has not been read.
    pub name: NameId,
    /// Runtime or driver.
    pub layer: Layer,
    /// Which arguments a record holds, and where.
    pub signature: Signature,
    /// What the function does to devices and streams.
    pub semantics: Semantics,
    /// False while its definition has not been read.
    pub defined: bool,
}

/// The recorded arguments of a function, and how it was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Signature {
    /// In the order of the prototype.
    pub arguments: Vec<Argument>,
    /// What the profiler that recorded its calls calls it, where that is not its name: `cudaFree_v3020`, several with
    /// commas between. Otherwise empty.
    pub original: String,
}

/// One recorded argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Argument {
    /// What it is for, `bytes`.
    pub role: String,
    /// How it is read and printed.
    pub kind: ArgKind,
    /// It is an out-parameter: there only if the call succeeded.
    pub on_success: bool,
    /// Byte of the call's record where it lies.
    pub at: u16,
    /// It is there only if another one says so: what else lies in these bytes may be something else.
    pub only: Option<Box<Only>>,
}

/// What another argument has to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Only {
    /// Its role.
    pub role: String,
    /// Byte of the record where it lies; it has 4 bytes.
    pub at: u16,
    /// One of these.
    pub values: Vec<u32>,
}

impl Only {
    /// Whether it is so in a record.
    #[must_use]
    pub fn holds(&self, record: &[u8]) -> bool {
        let value = record.get(usize::from(self.at)..).and_then(|rest| rest.first_chunk::<4>());
        value.is_some_and(|value| self.values.contains(&u32::from_le_bytes(*value)))
    }
}

impl Argument {
    /// Its value in a record; `None`: it is not in there.
    #[must_use]
    pub fn read(&self, record: &[u8]) -> Option<Value> {
        if self.only.as_ref().is_some_and(|only| !only.holds(record)) {
            return None;
        }
        self.kind.read(record, usize::from(self.at))
    }
}

impl Signature {
    /// The argument with this role, the first one where conditions tell several apart.
    #[must_use]
    pub fn role(&self, role: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.role == role)
    }

    /// What is there when the argument with this role has this value.
    #[must_use]
    pub fn with(&self, role: &str, value: u32) -> Self {
        let fits = |only: &Only| only.role == role && only.values.contains(&value);
        let is_there = |argument: &&Argument| argument.only.as_deref().is_none_or(fits);
        let arguments = self.arguments.iter().filter(is_there).cloned().collect();
        Self { arguments, original: self.original.clone() }
    }

    /// Whether some arguments are not always there.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        self.arguments.iter().any(|argument| argument.only.is_some())
    }

    /// Whether any argument is an address.
    #[must_use]
    pub fn points(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind == ArgKind::Pointer)
    }
}

impl std::fmt::Display for Signature {
    /// As in a definition, without the name: `(ptr:*ptr@32 bytes:size@40)`, with `?type=6|7` where it is there only then, and
    /// ` as cudaMalloc_v3020` if it was recorded so.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("(")?;
        for (index, argument) in self.arguments.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let star = if argument.on_success { "*" } else { "" };
            write!(out, "{space}{}:{star}{}@{}", argument.role, argument.kind.word(), argument.at)?;
            if let Some(only) = &argument.only {
                write!(out, "?{}=", only.role)?;
                for (index, value) in only.values.iter().enumerate() {
                    write!(out, "{}{value}", if index == 0 { "" } else { "|" })?;
                }
            }
        }
        out.write_str(")")?;
        if self.original.is_empty() { Ok(()) } else { write!(out, " as {}", self.original) }
    }
}
