//! Reading an expression.

use std::ops::Range;

use super::super::error::{FilterError, quoted};
use super::super::fields::{self, Field};
use super::super::terms::{self, Key, Reading, Term};
use super::super::{Comparison, Condition};
use super::words;

/// How deeply terms may lie within each other as they are written.
const MAX_OPEN: usize = 64;

/// Reads an expression. `origin` is the file that it stands in, or empty.
///
/// # Errors
/// If it is none; with the place.
pub fn read(origin: &str, text: &str) -> Result<Condition, FilterError> {
    let mut parser = Parser { text, at: 0, open: 0, reading: Reading::default() };
    let result = parser.everything();
    let condition = result.map_err(|wrong| FilterError::at(origin, text, wrong.span, wrong.why))?;
    terms::finish(condition).map_err(|why| FilterError::at(origin, text, 0..text.len(), why))
}

/// What is wrong, and where.
struct Wrong {
    span: Range<usize>,
    why: String,
}

type Result_<T> = Result<T, Wrong>;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    open: usize,
    reading: Reading,
}

impl<'a> Parser<'a> {
    fn everything(&mut self) -> Result_<Condition> {
        if self.rest().trim().is_empty() {
            return Ok(Condition::everything());
        }
        let condition = self.any()?;
        self.blanks();
        // `any` goes on until something cannot begin a term.
        if self.rest().is_empty() { Ok(condition) } else { Err(self.wrong_here(1, "no ( before this )")) }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn wrong_here<T: Into<String>>(&self, bytes: usize, why: T) -> Wrong {
        Wrong { span: self.at..self.at + bytes, why: why.into() }
    }

    /// Whether one of these operators comes next; it is passed over.
    fn operator(&mut self, sign: char, word: &str) -> bool {
        self.blanks();
        let bytes = if self.peek() == Some(sign) {
            1
        } else if self.next_is_word(word) {
            word.len()
        } else {
            return false;
        };
        self.at += bytes;
        true
    }

    fn next_is_word(&self, word: &str) -> bool {
        self.rest().strip_prefix(word).is_some_and(|rest| rest.chars().next().is_none_or(words::ends_word))
    }

    fn any(&mut self) -> Result_<Condition> {
        let mut parts = vec![self.all()?];
        while self.operator('|', "or") {
            parts.push(self.all()?);
        }
        Ok(Condition::Any(parts))
    }

    fn all(&mut self) -> Result_<Condition> {
        let mut parts = vec![self.side_by_side()?];
        while self.operator('&', "and") {
            parts.push(self.side_by_side()?);
        }
        Ok(Condition::All(parts))
    }

    fn side_by_side(&mut self) -> Result_<Condition> {
        let mut terms = Vec::new();
        loop {
            self.blanks();
            let joins = matches!(self.peek(), Some('|' | '&')) || self.next_is_word("or") || self.next_is_word("and");
            let ends = joins || matches!(self.peek(), None | Some(')'));
            if !ends {
                terms.push(self.term()?);
            } else if !terms.is_empty() {
                return Ok(terms::together(terms));
            } else if self.open == 0 && self.peek() == Some(')') {
                return Err(self.wrong_here(1, "no ( before this )"));
            } else if joins {
                let word = self.rest().split(words::ends_word).next().filter(|word| !word.is_empty());
                return Err(self.wrong_here(1, format!("expected a term before {}", word.unwrap_or("|"))));
            } else {
                return Err(self.wrong_here(1, "expected a term"));
            }
        }
    }

    fn term(&mut self) -> Result_<Term> {
        if self.open >= MAX_OPEN {
            return Err(self.wrong_here(1, format!("terms lie more than {MAX_OPEN} deep within each other")));
        }
        self.open += 1;
        let term = self.one_term();
        self.open -= 1;
        term
    }

    fn one_term(&mut self) -> Result_<Term> {
        self.blanks();
        match self.peek() {
            None | Some(')' | '|' | '&') => Err(self.wrong_here(1, "expected a term")),
            Some(',') => Err(self.wrong_here(1, "expected a term; a comma stands between the values of a field")),
            Some('-' | '!') => {
                self.at += 1;
                self.negated()
            }
            Some('(') => self.parentheses().map(Term::Must),
            Some('"' | '\'') => self.word(),
            Some(_) if self.next_is_word("not") => {
                self.at += "not".len();
                self.negated()
            }
            Some(_) => self.named(),
        }
    }

    fn negated(&mut self) -> Result_<Term> {
        Ok(Term::Must(Condition::Not(Box::new(self.term()?.alone()))))
    }

    fn parentheses(&mut self) -> Result_<Condition> {
        let column =
            self.text.get(..self.at).unwrap_or_default().chars().rev().take_while(|char| *char != '\n').count();
        self.at += 1;
        let inner = self.any()?;
        self.blanks();
        if self.peek() != Some(')') {
            return Err(self.wrong_here(1, format!("expected ) for the ( in column {}", column + 1)));
        }
        self.at += 1;
        Ok(inner)
    }

    /// A term that begins with a name, or a word.
    fn named(&mut self) -> Result_<Term> {
        let rest = self.rest();
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
        let bytes = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(bytes);
        let field = fields::named(name);
        if after.starts_with('(') {
            return self.call(name);
        }
        let compares = after.starts_with(['<', '>', '=']) && !name.is_empty();
        let asks = after.starts_with([':', '~']) && !name.is_empty();
        match field {
            // A name in C++, or one with < in it.
            None if asks && after.starts_with("::") => self.word(),
            None if asks || compares => {
                let known = fields::names();
                let hint = fields::hint(name, known);
                let quotes = if hint.is_empty() { "; a name with this sign in it needs quotes" } else { "" };
                Err(self.wrong_here(bytes, format!("no field {}{hint}{quotes}", quoted(name))))
            }
            // Else it would be taken for the name of a function.
            Some(_) if after.starts_with("!=") => {
                self.at += bytes;
                let why = format!("there is no !=; write not {name}=... or -{name}:...");
                Err(self.wrong_here(2, why))
            }
            Some(field) if asks || compares => {
                self.at += bytes;
                self.question(field, name)
            }
            _ => self.word(),
        }
    }

    fn call(&mut self, name: &str) -> Result_<Term> {
        let make = match name {
            "under" | "children-of" => Condition::ChildrenOf,
            "callers-of" => Condition::CallersOf,
            _ => {
                self.at += name.len();
                let hint = fields::hint(name, ["under", "children-of", "callers-of"]);
                let why = "expected children-of(...) or callers-of(...) before this; a name with ( in it needs quotes";
                return Err(self.wrong_here(1, format!("{why}{hint}")));
            }
        };
        self.at += name.len();
        Ok(Term::Must(make(Box::new(self.parentheses()?))))
    }

    /// What stands after a field's name.
    fn question(&mut self, field: Field, name: &str) -> Result_<Term> {
        let rest = self.rest();
        let signs = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::More),
            ("<", Comparison::Less),
            ("=", Comparison::Equal),
        ];
        if let Some((sign, comparison)) = signs.iter().find(|(sign, _)| rest.starts_with(sign)) {
            let before = self.at;
            self.at += sign.len();
            let (span, text) = self.value(words::word, &format!("a quantity after {name}{sign}"))?;
            let span = if matches!(field, Field::Number(_)) { span } else { before..before + sign.len() };
            let condition = self.reading.compare(field, *comparison, &text);
            return condition.map(Term::Must).map_err(|why| Wrong { span, why });
        }
        self.at += 1;
        if rest.starts_with('~') {
            let (span, text) = self.value(words::regex, &format!("a regular expression after {name}~"))?;
            let condition = self.reading.regex(field, &text);
            return condition.map(|found| Term::Plain(Key::Field(field), found)).map_err(|why| Wrong { span, why });
        }
        let mut values = Vec::new();
        let mut expected = format!("a pattern after {name}:");
        loop {
            let (span, text) = self.value(words::word, &expected)?;
            values.push(self.reading.term(field, &text).map_err(|why| Wrong { span, why })?);
            if self.peek() != Some(',') {
                return Ok(Term::Plain(Key::Field(field), Condition::Any(values)));
            }
            self.at += 1;
            "a pattern after the comma".clone_into(&mut expected);
        }
    }

    fn word(&mut self) -> Result_<Term> {
        let is_quoted = matches!(self.peek(), Some('"' | '\''));
        let (span, text) = self.value(words::word, "a term")?;
        match text.as_str() {
            "failed" if !is_quoted => Ok(Term::Must(Condition::Failed)),
            "everything" if !is_quoted => Ok(Term::Must(Condition::everything())),
            "nothing" if !is_quoted => Ok(Term::Must(Condition::nothing())),
            text => {
                let condition = self.reading.word(text).map_err(|why| Wrong { span, why })?;
                Ok(Term::Plain(Key::Word, condition))
            }
        }
    }

    /// A text, in quotes or up to where `end` says that it ends.
    fn value(&mut self, end: fn(&str) -> usize, expected: &str) -> Result_<(Range<usize>, String)> {
        let start = self.at;
        let rest = self.rest();
        let text = if rest.starts_with(['"', '\'']) {
            let (text, bytes) = words::unquote(rest)
                .map_err(|wrong| Wrong { span: start + wrong.at..start + wrong.at + wrong.bytes, why: wrong.why })?;
            self.at += bytes;
            text
        } else {
            self.at += end(rest);
            self.text.get(start..self.at).unwrap_or_default().to_owned()
        };
        if self.at == start {
            return Err(self.wrong_here(1, format!("expected {expected}")));
        }
        Ok((start..self.at, text))
    }
}
