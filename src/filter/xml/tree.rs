//! Elements of a document, with the places at which they stand. What a filter has no use for is refused.

use std::ops::Range;

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::super::error::quoted;
use super::super::fields::hint;

/// How deeply elements may lie within each other.
const MAX_DEPTH: usize = 100;
/// Most elements.
const MAX_ELEMENTS: usize = 10_000;

/// Most attributes of an element.
const MAX_ATTRIBUTES: usize = 16;

/// What is wrong, and where.
pub(super) struct Wrong {
    pub span: Range<usize>,
    pub why: String,
}

impl Wrong {
    pub fn new(span: &Range<usize>, why: impl Into<String>) -> Self {
        Self { span: span.clone(), why: why.into() }
    }
}

/// An attribute.
pub(super) struct Attribute {
    pub name: String,
    pub value: String,
    pub span: Range<usize>,
}

/// An element.
pub(super) struct Element {
    pub name: String,
    /// Its opening tag.
    pub span: Range<usize>,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
    /// Text in it, without blanks around it.
    pub text: String,
    /// Where the text stands, without blanks around it.
    seen: Option<Range<usize>>,
    /// The part of the text that stands for itself, blanks included: references and CDATA.
    kept: Option<Range<usize>>,
}

impl Element {
    /// Where the text stands, or the tag if there is none.
    pub fn text_span(&self) -> &Range<usize> {
        self.seen.as_ref().unwrap_or(&self.span)
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Refuses attributes other than these.
    pub fn only(&self, known: &[&str]) -> Result<(), Wrong> {
        let Some(wrong) = self.attributes.iter().find(|attribute| !known.contains(&attribute.name.as_str())) else {
            return Ok(());
        };
        let (name, attribute) = (&self.name, quoted(&wrong.name));
        let expected =
            if known.is_empty() { "it has none".to_owned() } else { format!("known are {}", known.join(", ")) };
        let hint = hint(&wrong.name, known.iter().copied());
        Err(Wrong::new(&wrong.span, format!("no attribute {attribute} in <{name}>; {expected}{hint}")))
    }

    fn add_text(&mut self, text: &str, span: Range<usize>, keeps: bool) {
        if keeps {
            let end = self.text.len() + text.len();
            self.kept = Some(self.kept.as_ref().map_or(self.text.len(), |kept| kept.start)..end);
        }
        let seen = if keeps { text } else { text.trim() };
        if !seen.is_empty() {
            let start = span.start + if keeps { 0 } else { text.len() - text.trim_start().len() };
            let end = span.end - if keeps { 0 } else { text.len() - text.trim_end().len() };
            self.seen = Some(self.seen.as_ref().map_or(start, |seen| seen.start)..end);
        }
        self.text.push_str(text);
    }

    fn trim(&mut self) {
        let kept = self.kept.clone().unwrap_or(self.text.len()..0);
        let start = (self.text.len() - self.text.trim_start().len()).min(kept.start);
        let end = self.text.trim_end().len().max(kept.end).max(start);
        self.text = self.text.get(start..end).unwrap_or_default().to_owned();
    }
}

/// The document's element.
pub(super) fn read(text: &str) -> Result<Element, Wrong> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut root: Option<Element> = None;
    let mut count = 0;
    loop {
        let start = place(reader.buffer_position());
        let event = reader.read_event().map_err(|error| {
            let at = place(reader.error_position());
            Wrong::new(&(at..at + 1), one_line(&error.to_string()))
        })?;
        let span = start..place(reader.buffer_position());
        match event {
            Event::Start(tag) | Event::Empty(tag) if count > 0 && open.is_empty() => {
                let name = quoted(tag.name().as_ref());
                return Err(Wrong::new(
                    &span,
                    format!("{name} after the end of the document; one <filter> is expected"),
                ));
            }
            Event::Start(ref tag) | Event::Empty(ref tag) => {
                count += 1;
                if count > MAX_ELEMENTS || open.len() >= MAX_DEPTH {
                    let why = format!("more than {MAX_ELEMENTS} elements, or {MAX_DEPTH} deep within each other");
                    return Err(Wrong::new(&span, why));
                }
                let element = element(text, tag, span)?;
                if matches!(event, Event::Start(_)) {
                    open.push(element);
                } else {
                    close(element, &mut open, &mut root);
                }
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root);
                }
            }
            Event::Text(piece) => add(&mut open, &piece.xml10_content(), span, false)?,
            Event::CData(piece) => add(&mut open, &piece.xml10_content(), span, true)?,
            Event::GeneralRef(reference) => {
                let char = referred(&reference).map_err(|why| Wrong::new(&span, why))?;
                add(&mut open, char.encode_utf8(&mut [0; 4]), span, true)?;
            }
            Event::Comment(_) => {}
            Event::Decl(declaration) => {
                let utf8 =
                    declaration.encoding().is_none_or(|name| name.is_ok_and(|name| name.eq_ignore_ascii_case("utf-8")));
                if !utf8 {
                    return Err(Wrong::new(&span, "the encoding has to be UTF-8"));
                }
            }
            Event::DocType(_) => return Err(Wrong::new(&span, "a document type is not read; leave it out")),
            Event::PI(_) => return Err(Wrong::new(&span, "processing instructions are not read; leave this out")),
            Event::Eof => {
                if let Some(element) = open.last() {
                    return Err(Wrong::new(&element.span, format!("<{}> is not closed", element.name)));
                }
                return root.ok_or_else(|| Wrong::new(&span, "expected <filter>, found nothing"));
            }
        }
    }
}

fn place(position: u64) -> usize {
    usize::try_from(position).unwrap_or(usize::MAX)
}

fn close(mut element: Element, open: &mut [Element], root: &mut Option<Element>) {
    element.trim();
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn add(open: &mut [Element], text: &str, span: Range<usize>, keeps: bool) -> Result<(), Wrong> {
    match open.last_mut() {
        Some(element) => {
            element.add_text(text, span, keeps);
            Ok(())
        }
        None if !keeps && text.trim().is_empty() => Ok(()),
        None => Err(Wrong::new(&span, "text outside of <filter>")),
    }
}

fn element(text: &str, tag: &BytesStart, span: Range<usize>) -> Result<Element, Wrong> {
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        if attributes.len() >= MAX_ATTRIBUTES {
            return Err(Wrong::new(&span, format!("more than {MAX_ATTRIBUTES} attributes")));
        }
        let attribute = attribute.map_err(|error| Wrong::new(&span, one_line(&error.to_string())))?;
        let name = attribute.key.as_ref();
        let at = within(text, name).unwrap_or(span.start);
        let end = within(text, &attribute.value).map_or(at + name.len(), |value| value + attribute.value.len() + 1);
        let value = attribute.normalized_value(XmlVersion::Explicit1_0);
        let value = value.map_err(|error| Wrong::new(&(at..end), one_line(&error.to_string())))?;
        attributes.push(Attribute { name: name.to_owned(), value: value.into_owned(), span: at..end });
    }
    let name = tag.name().as_ref().to_owned();
    Ok(Element { name, span, attributes, children: Vec::new(), text: String::new(), seen: None, kept: None })
}

/// Where a piece of the text begins in it.
fn within(text: &str, piece: &str) -> Option<usize> {
    let at = (piece.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (at + piece.len() <= text.len()).then_some(at)
}

/// The character that a reference stands for: by number, or one of the five that XML knows.
fn referred(reference: &BytesRef) -> Result<char, String> {
    let name = reference.xml10_content();
    match reference.resolve_char_ref() {
        Ok(Some(char)) => Ok(char),
        Err(_) => Err(format!("{} is no character's number", quoted(&name))),
        Ok(None) => match name.as_ref() {
            "lt" => Ok('<'),
            "gt" => Ok('>'),
            "amp" => Ok('&'),
            "quot" => Ok('"'),
            "apos" => Ok('\''),
            other => {
                let known = "known are lt, gt, amp, quot and apos; write &amp; for &";
                Err(format!("no entity {}; {known}", quoted(other)))
            }
        },
    }
}

fn one_line(text: &str) -> String {
    super::super::error::safe(text.lines().next().unwrap_or("no XML"))
}
