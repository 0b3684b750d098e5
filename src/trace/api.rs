//! CUDA functions as a trace knows them.

use super::ids::NameId;
use super::semantics::Semantics;
use super::value::ArgKind;
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
}

impl Signature {
    /// The argument with this role.
    #[must_use]
    pub fn role(&self, role: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.role == role)
    }

    /// Whether any argument is an address.
    #[must_use]
    pub fn points(&self) -> bool {
        self.arguments.iter().any(|argument| argument.kind == ArgKind::Pointer)
    }
}

impl std::fmt::Display for Signature {
    /// As in a definition, without the name: `(ptr:*ptr@32 bytes:size@40)`, ` as cudaMalloc_v3020` if it was recorded so.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("(")?;
        for (index, argument) in self.arguments.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let star = if argument.on_success { "*" } else { "" };
            write!(out, "{space}{}:{star}{}@{}", argument.role, argument.kind.word(), argument.at)?;
        }
        out.write_str(")")?;
        if self.original.is_empty() { Ok(()) } else { write!(out, " as {}", self.original) }
    }
}
