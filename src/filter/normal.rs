//! The normal form of conditions: two that are written differently and mean the same by the rules below are equal in
//! it, and each spelling writes and reads exactly it.
//!
//! - `Not` stands before single questions only: not all of these is any of their opposites, not any of them all of these.
//! - `All` within `All` and `Any` within `Any` are dissolved; one of one condition is that condition.
//! - What holds always within `All`, and never within `Any`, is left out; `Any` with one that always holds always holds,
//!   `All` with one that never does never does.
//! - Conditions stand in the order of [`order`], each once.

use std::cmp::Ordering;

use super::fields::{FIELDS, Field};
use super::{Comparison, Condition, Pattern};

/// How deeply conditions may lie within each other, in the normal form.
pub const MAX_DEPTH: usize = 24;

impl Condition {
    /// What holds for every event.
    #[must_use]
    pub const fn everything() -> Self {
        Self::All(Vec::new())
    }

    /// What holds for none.
    #[must_use]
    pub const fn nothing() -> Self {
        Self::Any(Vec::new())
    }

    /// Whether it is [`Condition::everything`], in the normal form.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(conditions) if conditions.is_empty())
    }

    /// The same in the normal form.
    #[must_use]
    pub fn normal(self) -> Self {
        normal(self, false)
    }

    /// How deeply conditions lie within each other: 1 for a single question.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::All(inner) | Self::Any(inner) => 1 + inner.iter().map(Self::depth).max().unwrap_or(0),
            Self::Not(inner) | Self::ChildrenOf(inner) | Self::CallersOf(inner) => 1 + inner.depth(),
            Self::Text(..) | Self::Number(..) | Self::Address(..) | Self::Failed => 1,
        }
    }

    /// The field that it asks about, if it is a single question with one.
    #[must_use]
    pub const fn field(&self) -> Option<Field> {
        match self {
            Self::Text(field, _) => Some(Field::Text(*field)),
            Self::Number(field, ..) => Some(Field::Number(*field)),
            Self::Address(..) => Some(Field::Address),
            _ => None,
        }
    }
}

fn normal(condition: Condition, negated: bool) -> Condition {
    let single = |condition| if negated { Condition::Not(Box::new(condition)) } else { condition };
    match condition {
        Condition::Not(inner) => normal(*inner, !negated),
        Condition::All(inner) => joined(inner, negated, !negated),
        Condition::Any(inner) => joined(inner, negated, negated),
        Condition::ChildrenOf(inner) => single(Condition::ChildrenOf(Box::new(normal(*inner, false)))),
        Condition::CallersOf(inner) => single(Condition::CallersOf(Box::new(normal(*inner, false)))),
        other => single(other),
    }
}

/// All (or any) of these, each negated or not.
fn joined(inner: Vec<Condition>, negated: bool, all: bool) -> Condition {
    let mut parts = Vec::with_capacity(inner.len());
    for condition in inner {
        match (normal(condition, negated), all) {
            (Condition::All(more), true) | (Condition::Any(more), false) => parts.extend(more),
            (Condition::All(none), false) if none.is_empty() => return Condition::everything(),
            (Condition::Any(none), true) if none.is_empty() => return Condition::nothing(),
            (other, _) => parts.push(other),
        }
    }
    parts.sort_by(order);
    parts.dedup();
    match (parts.len(), all) {
        (1, _) => parts.swap_remove(0),
        (_, true) => Condition::All(parts),
        (_, false) => Condition::Any(parts),
    }
}

/// The order in which conditions are written: questions by field, then what is made of others, `Not` last.
#[must_use]
pub fn order(one: &Condition, other: &Condition) -> Ordering {
    rank(one).cmp(&rank(other)).then_with(|| match (one, other) {
        (Condition::Text(_, one), Condition::Text(_, other)) => text(one).cmp(&text(other)),
        (Condition::Number(_, one, value), Condition::Number(_, other, than)) => {
            (compared(*one), value).cmp(&(compared(*other), than))
        }
        (Condition::Address(one, last), Condition::Address(other, end)) => (one, last).cmp(&(other, end)),
        (Condition::Not(one), Condition::Not(other))
        | (Condition::ChildrenOf(one), Condition::ChildrenOf(other))
        | (Condition::CallersOf(one), Condition::CallersOf(other)) => order(one, other),
        (Condition::All(one), Condition::All(other)) | (Condition::Any(one), Condition::Any(other)) => {
            let mut pairs = one.iter().zip(other).map(|(one, other)| order(one, other));
            pairs.find(|order| order.is_ne()).unwrap_or(one.len().cmp(&other.len()))
        }
        _ => Ordering::Equal,
    })
}

fn rank(condition: &Condition) -> usize {
    match condition {
        Condition::Failed => FIELDS.len(),
        Condition::ChildrenOf(_) => FIELDS.len() + 1,
        Condition::CallersOf(_) => FIELDS.len() + 2,
        Condition::Any(_) => FIELDS.len() + 3,
        Condition::All(_) => FIELDS.len() + 4,
        Condition::Not(_) => FIELDS.len() + 5,
        Condition::Text(..) | Condition::Number(..) | Condition::Address(..) => {
            let field = condition.field();
            FIELDS.iter().position(|row| Some(row.field) == field).unwrap_or(FIELDS.len())
        }
    }
}

fn text(pattern: &Pattern) -> (bool, &str) {
    match pattern {
        Pattern::Glob(text) => (false, text),
        Pattern::Regex(text) => (true, text),
    }
}

const fn compared(comparison: Comparison) -> u8 {
    match comparison {
        Comparison::Equal => 0,
        Comparison::AtLeast => 1,
        Comparison::More => 2,
        Comparison::AtMost => 3,
        Comparison::Less => 4,
    }
}
