//! Values, packed: a snapshot of an allocator may have ten million dictionaries that have the same keys.

use rustc_hash::FxHashMap;

/// Keys that a dictionary has at most for them to be shared with others.
const SHARED_KEYS: usize = 64;
/// Bytes that an object takes beside its values.
const OBJECT_BYTES: u64 = 48;

/// A value: a kind and what belongs to it in 60 bits, or where that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(u64);

const NONE: u64 = 0;
const BOOL: u64 = 1;
const INT: u64 = 2;
const WIDE: u64 = 3;
const FLOAT: u64 = 4;
const TEXT: u64 = 5;
const DATA: u64 = 6;
const OBJECT: u64 = 7;
const NAME: u64 = 8;
const KIND_BITS: u32 = 4;

impl Value {
    /// None.
    pub const NOTHING: Self = Self(NONE);

    const fn new(kind: u64, payload: u64) -> Self {
        Self(payload << KIND_BITS | kind)
    }

    const fn kind(self) -> u64 {
        self.0 & 15
    }

    const fn payload(self) -> usize {
        (self.0 >> KIND_BITS) as usize
    }

    /// A truth value.
    #[must_use]
    pub const fn boolean(value: bool) -> Self {
        Self::new(BOOL, value as u64)
    }

    /// A function or class by its name: it is known by `number` to the machine.
    #[must_use]
    pub const fn name(number: u64) -> Self {
        Self::new(NAME, number)
    }

    /// The number of a name.
    #[must_use]
    pub const fn as_name(self) -> Option<usize> {
        if self.kind() == NAME { Some(self.payload()) } else { None }
    }
}

#[derive(Debug)]
enum Object {
    /// List, tuple or set.
    List(Vec<Value>),
    /// Values in the order of a shape's keys.
    Shaped(u32, Box<[Value]>),
    /// Keys and values in turn.
    Loose(Vec<Value>),
}

/// What a pickle holds.
#[derive(Debug, Default)]
pub struct Heap {
    objects: Vec<Object>,
    shapes: Vec<Box<[Value]>>,
    known_shapes: FxHashMap<Box<[Value]>, u32>,
    text: Vec<u8>,
    spans: Vec<(u64, u32)>,
    wide: Vec<i128>,
    floats: Vec<f64>,
    used: u64,
}

impl Heap {
    /// Bytes that are taken, about.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// A whole number; beyond 127 bits it is the nearest that fits.
    pub fn int(&mut self, value: i128) -> Value {
        const HALF: i128 = 1 << 59;
        if (-HALF..HALF).contains(&value) {
            return Value::new(INT, value as u64 & ((1 << 60) - 1));
        }
        self.wide.push(value);
        self.used += 16;
        Value::new(WIDE, self.wide.len() as u64 - 1)
    }

    /// A floating-point number.
    pub fn float(&mut self, value: f64) -> Value {
        self.floats.push(value);
        self.used += 8;
        Value::new(FLOAT, self.floats.len() as u64 - 1)
    }

    /// A string, in whatever encoding.
    pub fn text(&mut self, text: &[u8]) -> Value {
        self.span(TEXT, text)
    }

    /// Bytes.
    pub fn data(&mut self, data: &[u8]) -> Value {
        self.span(DATA, data)
    }

    fn span(&mut self, kind: u64, bytes: &[u8]) -> Value {
        self.spans.push((self.text.len() as u64, u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        self.text.extend_from_slice(bytes);
        self.used += 16 + bytes.len() as u64;
        Value::new(kind, self.spans.len() as u64 - 1)
    }

    fn object(&mut self, object: Object) -> Value {
        self.objects.push(object);
        self.used += OBJECT_BYTES;
        Value::new(OBJECT, self.objects.len() as u64 - 1)
    }

    /// A list, tuple or set.
    pub fn list(&mut self, values: Vec<Value>) -> Value {
        self.used += 8 * values.len() as u64;
        self.object(Object::List(values))
    }

    /// A dictionary without anything in it.
    pub fn dictionary(&mut self) -> Value {
        self.object(Object::Loose(Vec::new()))
    }

    /// Puts values at a list's end; whether it is a list.
    pub fn append(&mut self, list: Value, values: &[Value]) -> bool {
        let Some(Object::List(known)) = self.object_mut(list) else { return false };
        known.extend_from_slice(values);
        self.used += 8 * values.len() as u64;
        true
    }

    /// Puts keys and values, in turn, into a dictionary; whether it is one.
    pub fn insert(&mut self, dictionary: Value, pairs: &[Value]) -> bool {
        let index = dictionary.payload();
        let object = if dictionary.kind() == OBJECT { self.objects.get_mut(index) } else { None };
        match object {
            Some(Object::Loose(known)) if known.is_empty() && (1..=SHARED_KEYS).contains(&(pairs.len() / 2)) => {
                let keys: Box<[Value]> = pairs.iter().step_by(2).copied().collect();
                let values: Box<[Value]> = pairs.iter().skip(1).step_by(2).copied().collect();
                self.used += 8 * values.len() as u64;
                let shape = self.shape(keys);
                if let Some(object) = self.objects.get_mut(index) {
                    *object = Object::Shaped(shape, values);
                }
                true
            }
            Some(Object::Loose(known)) => {
                known.extend_from_slice(pairs);
                self.used += 8 * pairs.len() as u64;
                true
            }
            Some(Object::Shaped(shape, values)) => {
                let keys = self.shapes.get(*shape as usize).into_iter().flatten();
                let mut loose: Vec<Value> = keys.zip(values.iter()).flat_map(|(&key, &value)| [key, value]).collect();
                loose.extend_from_slice(pairs);
                self.used += 8 * loose.len() as u64;
                if let Some(object) = self.objects.get_mut(index) {
                    *object = Object::Loose(loose);
                }
                true
            }
            _ => false,
        }
    }

    fn shape(&mut self, keys: Box<[Value]>) -> u32 {
        if let Some(&known) = self.known_shapes.get(&keys) {
            return known;
        }
        let shape = u32::try_from(self.shapes.len()).unwrap_or(u32::MAX);
        self.used += 16 * keys.len() as u64 + 64;
        self.shapes.push(keys.clone());
        self.known_shapes.insert(keys, shape);
        shape
    }

    fn object_mut(&mut self, value: Value) -> Option<&mut Object> {
        if value.kind() == OBJECT { self.objects.get_mut(value.payload()) } else { None }
    }

    fn get_object(&self, value: Value) -> Option<&Object> {
        if value.kind() == OBJECT { self.objects.get(value.payload()) } else { None }
    }

    /// The whole number that a value is; truth values are 0 and 1.
    #[must_use]
    pub fn as_int(&self, value: Value) -> Option<i128> {
        match value.kind() {
            INT => Some(i128::from((value.0 as i64) >> KIND_BITS)),
            BOOL => Some(value.payload() as i128),
            WIDE => self.wide.get(value.payload()).copied(),
            _ => None,
        }
    }

    /// The floating-point number that a value is.
    #[must_use]
    pub fn as_float(&self, value: Value) -> Option<f64> {
        if value.kind() == FLOAT { self.floats.get(value.payload()).copied() } else { None }
    }

    /// The bytes of a string.
    #[must_use]
    pub fn as_text(&self, value: Value) -> Option<&[u8]> {
        if value.kind() == TEXT { self.bytes_of(value) } else { None }
    }

    /// Bytes, or those of a string.
    #[must_use]
    pub fn as_data(&self, value: Value) -> Option<&[u8]> {
        if matches!(value.kind(), TEXT | DATA) { self.bytes_of(value) } else { None }
    }

    fn bytes_of(&self, value: Value) -> Option<&[u8]> {
        let &(start, length) = self.spans.get(value.payload())?;
        let start = usize::try_from(start).ok()?;
        self.text.get(start..start.checked_add(length as usize)?)
    }

    /// What a list, tuple or set holds; nothing for other values.
    #[must_use]
    pub fn items(&self, value: Value) -> &[Value] {
        match self.get_object(value) {
            Some(Object::List(values)) => values,
            _ => &[],
        }
    }

    /// Whether a value is a list, tuple or set.
    #[must_use]
    pub fn is_list(&self, value: Value) -> bool {
        matches!(self.get_object(value), Some(Object::List(_)))
    }

    /// Whether a value is a dictionary.
    #[must_use]
    pub fn is_dictionary(&self, value: Value) -> bool {
        matches!(self.get_object(value), Some(Object::Shaped(..) | Object::Loose(_)))
    }

    /// Keys and values of a dictionary, in order; a key that came twice is there twice.
    pub fn pairs(&self, value: Value) -> impl DoubleEndedIterator<Item = (Value, Value)> + '_ {
        let (keys, values, loose): (&[Value], &[Value], &[Value]) = match self.get_object(value) {
            Some(Object::Shaped(shape, values)) => {
                (self.shapes.get(*shape as usize).map_or(&[], |keys| keys), values, &[])
            }
            Some(Object::Loose(loose)) => (&[], &[], loose),
            _ => (&[], &[], &[]),
        };
        let shaped = keys.iter().copied().zip(values.iter().copied());
        let loose = loose.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
        shaped.chain(loose)
    }

    /// What a dictionary has under a string.
    #[must_use]
    pub fn field(&self, dictionary: Value, name: &str) -> Option<Value> {
        let mut pairs = self.pairs(dictionary).rev();
        pairs.find(|&(key, _)| self.as_text(key) == Some(name.as_bytes())).map(|(_, value)| value)
    }
}
