//! Where the arguments of a call lie: the integer registers and the stack, by the target's calling convention.

/// A calling convention, as far as the CUDA functions need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// x86-64, System V: six integer registers. Structures over 16 bytes lie on the stack; a structure result over
    /// 16 bytes takes the first register for its address.
    SystemV,
    /// AAPCS64: eight integer registers. Structures over 16 bytes go by reference; the address of a structure
    /// result has a register of its own, x8.
    Aapcs64,
}

/// Where an argument is passed, before it is known what is still free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// An integer, an address, or a structure of integers of up to 8 bytes.
    Word,
    /// A structure of integers of 9 to 16 bytes, aligned to 8 at most.
    TwoWords,
    /// A floating-point number.
    Vector,
    /// A structure of so many bytes, over 16.
    Structure(usize),
}

impl Convention {
    /// Of a target, by the name that cargo gives its architecture.
    pub fn of(architecture: &str) -> Option<Self> {
        match architecture {
            "x86_64" => Some(Self::SystemV),
            "aarch64" => Some(Self::Aapcs64),
            _ => None,
        }
    }

    /// Integer registers for arguments.
    pub fn registers(self) -> usize {
        match self {
            Self::SystemV => 6,
            Self::Aapcs64 => 8,
        }
    }

    /// Index of the first word of arguments on the stack, among the words that `Op::word` counts: after the registers
    /// come the caller's frame and the return address, whose pair both trampolines keep below the stack arguments.
    pub fn first_stack_word(self) -> usize {
        self.registers() + 2
    }
}

/// The arguments of one call, taken in the order of the prototype.
#[derive(Clone, Copy, Debug)]
pub struct Arguments {
    convention: Convention,
    registers: usize,
    vectors: usize,
    stack_words: usize,
}

impl Arguments {
    /// None yet. `returns_structure`: the result is a structure of over 16 bytes.
    pub fn new(convention: Convention, returns_structure: bool) -> Self {
        let hidden = returns_structure && convention == Convention::SystemV;
        Self { convention, registers: usize::from(hidden), vectors: 0, stack_words: 0 }
    }

    /// Places the next argument; the index of its (first) word, or of the word that holds its address; `None` for a
    /// vector register, which is not among the words.
    pub fn take(&mut self, class: Class) -> Option<usize> {
        match class {
            Class::Word => Some(self.words(1)),
            Class::TwoWords => Some(self.words(2)),
            Class::Vector if self.vectors < 8 => {
                self.vectors += 1;
                None
            }
            Class::Vector => Some(self.stack(1)),
            Class::Structure(bytes) if self.convention == Convention::SystemV => Some(self.stack(bytes.div_ceil(8))),
            Class::Structure(_) => Some(self.words(1)),
        }
    }

    /// Whether the bytes of a structure of over 16 begin in the word that [`Arguments::take`] tells, or it holds their
    /// address.
    pub fn passes_structures(&self) -> bool {
        self.convention == Convention::SystemV
    }

    /// How a digest of such a structure is made.
    pub fn structure_access(&self) -> &'static str {
        if self.passes_structures() { "Digest" } else { "DigestAt" }
    }

    /// Bytes of arguments on the stack so far.
    pub fn stack_bytes(&self) -> usize {
        self.stack_words * 8
    }

    fn words(&mut self, count: usize) -> usize {
        let registers = self.convention.registers();
        if self.registers + count <= registers {
            self.registers += count;
            return self.registers - count;
        }
        if self.convention == Convention::Aapcs64 {
            // AAPCS64 C.13: once an argument has gone to the stack, all later ones do. System V still fills the rest.
            self.registers = registers;
        }
        self.stack(count)
    }

    fn stack(&mut self, words: usize) -> usize {
        self.stack_words += words;
        self.convention.first_stack_word() + self.stack_words - words
    }
}
