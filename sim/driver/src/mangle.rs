//! Kernel names: from `_Z5scalePfm` to a base name and parameters, as far as the Itanium mangling of simple functions goes.

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Offset in the parameter buffer.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// What it is.
    pub shape: Shape,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An integer.
    Integer,
    /// A floating-point number, or anything else that is no address.
    Other,
    /// A pointer to elements of a size; whether they are floats, and whether they are const.
    Pointer { element: usize, float: bool, constant: bool },
}

/// A parsed name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// The innermost name: `scale`.
    pub base: String,
    /// The parameters in order.
    pub params: Vec<Param>,
}

#[derive(Clone, Copy)]
struct Type {
    size: usize,
    float: bool,
    integer: bool,
    constant: bool,
    /// Pointee's size, float-ness and constness.
    pointee: Option<(usize, bool, bool)>,
}

struct Parser<'a> {
    rest: &'a [u8],
    /// Substitution candidates in order; names hold a place only.
    seen: Vec<Type>,
}

const OPAQUE: Type = Type { size: 8, float: false, integer: false, constant: false, pointee: None };

impl Parser<'_> {
    fn eat(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn source_name(&mut self) -> Option<String> {
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let length: usize = std::str::from_utf8(self.rest.get(..digits)?).ok()?.parse().ok()?;
        let name = self.rest.get(digits..digits.checked_add(length)?)?;
        self.rest = self.rest.get(digits + length..)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn name(&mut self) -> Option<String> {
        if !self.eat(b'N') {
            return self.source_name();
        }
        let mut last = self.source_name()?;
        while !self.eat(b'E') {
            self.seen.push(OPAQUE);
            last = self.source_name()?;
        }
        Some(last)
    }

    fn substitution(&mut self) -> Option<Type> {
        let mut index = 0usize;
        let mut first = true;
        loop {
            match self.next()? {
                b'_' => break,
                digit @ (b'0'..=b'9' | b'A'..=b'Z') => {
                    let value = if digit <= b'9' { digit - b'0' } else { digit - b'A' + 10 };
                    index = index.checked_mul(36)?.checked_add(usize::from(value))?;
                    first = false;
                }
                _ => return None,
            }
        }
        self.seen.get(if first { 0 } else { index + 1 }).copied()
    }

    fn builtin(byte: u8) -> Option<Type> {
        let (size, float, integer) = match byte {
            b'v' => (1, false, false),
            b'b' | b'c' | b'a' | b'h' => (1, false, true),
            b's' | b't' => (2, false, true),
            b'i' | b'j' => (4, false, true),
            b'l' | b'm' | b'x' | b'y' => (8, false, true),
            b'f' => (4, true, false),
            b'd' => (8, true, false),
            _ => return None,
        };
        Some(Type { size, float, integer, constant: false, pointee: None })
    }

    fn parse(&mut self, depth: usize) -> Option<Type> {
        if depth > 16 {
            return None;
        }
        match *self.rest.first()? {
            b'P' | b'R' => {
                self.next();
                let to = self.parse(depth + 1)?;
                let made = Type { pointee: Some((to.size, to.float, to.constant)), ..OPAQUE };
                self.seen.push(made);
                Some(made)
            }
            b'K' | b'V' | b'r' => {
                let constant = self.next()? == b'K';
                let of = self.parse(depth + 1)?;
                let made = Type { constant: constant || of.constant, ..of };
                self.seen.push(made);
                Some(made)
            }
            b'S' => {
                self.next();
                self.substitution()
            }
            b'0'..=b'9' | b'N' => {
                self.name()?;
                self.seen.push(OPAQUE);
                Some(OPAQUE)
            }
            byte => {
                self.next();
                Self::builtin(byte)
            }
        }
    }
}

/// Parses a mangled name. A name that is not mangled, or too clever, has no known parameters.
pub fn parse(mangled: &str) -> Signature {
    let plain = || Signature { base: mangled.to_owned(), params: Vec::new() };
    let Some(rest) = mangled.strip_prefix("_Z") else { return plain() };
    let mut parser = Parser { rest: rest.as_bytes(), seen: Vec::new() };
    let Some(base) = parser.name() else { return plain() };
    let mut params = Vec::new();
    let mut offset = 0usize;
    while !parser.rest.is_empty() && parser.rest != b"v" {
        let Some(kind) = parser.parse(0) else {
            return Signature { base, params: Vec::new() };
        };
        offset = offset.next_multiple_of(kind.size.max(1));
        let shape = match kind.pointee {
            Some((element, float, constant)) => Shape::Pointer { element, float, constant },
            None if kind.integer => Shape::Integer,
            None => Shape::Other,
        };
        params.push(Param { offset, size: kind.size, shape });
        offset += kind.size;
    }
    Signature { base, params }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn floats(offset: usize, constant: bool) -> Param {
        Param { offset, size: 8, shape: Shape::Pointer { element: 4, float: true, constant } }
    }

    #[test]
    fn plain_functions() {
        let scale = parse("_Z5scalePfm");
        assert_eq!(scale.base, "scale");
        assert_eq!(scale.params, [floats(0, false), Param { offset: 8, size: 8, shape: Shape::Integer }]);
        assert!(parse("_Z5emptyv").params.is_empty());
        assert_eq!(parse("not_mangled").base, "not_mangled");
        assert_eq!(parse("_Z").base, "_Z");
        assert_eq!(parse("_Z99x").base, "_Z99x");
    }

    #[test]
    fn substitutions_constness_and_namespaces() {
        let add = parse("_Z3addPKfS0_Pfi");
        assert_eq!(add.params.len(), 4);
        assert_eq!(add.params[..3], [floats(0, true), floats(8, true), floats(16, false)]);
        assert_eq!(add.params[3], Param { offset: 24, size: 4, shape: Shape::Integer });
        let nested = parse("_ZN2ns5scaleEPfS0_m");
        assert_eq!(nested.base, "scale");
        assert_eq!(nested.params[..2], [floats(0, false), floats(8, false)]);
    }

    #[test]
    fn any_bytes_end() {
        let mut rng = crate::config::Rng::new(5);
        for _ in 0..20_000 {
            let length = rng.below(20) as usize;
            let text: String = (0..length).map(|_| char::from(b"_ZNPKS0159EfmivzR"[rng.below(17) as usize])).collect();
            let _ = parse(&format!("_Z{text}"));
        }
    }
}
