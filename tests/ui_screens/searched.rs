//! What the made-up session answers to a search: all rows are looked through, the slow way.

use std::sync::Arc;

use umtui::filter::{Condition, Pattern, TextField};
use umtui::session::search::Pattern as Sought;
use umtui::session::view::*;

use crate::fixture::{calls, events, output};

/// Rows of a list that are looked through.
const LIST: u64 = 20_000;

pub fn search(view: &View, request: &SearchRequest) -> SearchAnswer {
    if let Step::Names(limit) = request.step {
        return names(request, limit);
    }
    if let Step::NamesOf(kind, limit) = request.step {
        let mut answer = names(request, usize::MAX);
        answer.entries.retain(|entry| entry.kind == kind);
        answer.entries.truncate(limit);
        return answer;
    }
    if request.step == Step::About {
        return about(view, request);
    }
    if request.step == Step::Source {
        let source = Some(Ok(("/src/solver.cu".to_owned(), 131)));
        return SearchAnswer { id: request.id, source, ..SearchAnswer::default() };
    }
    let pattern = Sought::new(&request.text).expect("a text");
    let finds = |text: &str| pattern.finds(text);
    let (hits, cursor, tree): (Vec<usize>, usize, Vec<CallRow>) = match (view, request.from) {
        (View::Calls(asked), SearchFrom::Node(key)) => {
            let folds = Arc::new(Folds { open_depth: u16::MAX, ..Folds::default() });
            let all = CallsRequest { folds, cursor: None, first: 0, rows: usize::MAX, ..asked.clone() };
            let rows = calls(&all, false).rows;
            let hits = (0..rows.len()).filter(|&row| finds(&rows[row].label)).collect();
            (hits, rows.iter().position(|row| Some(row.key) == key).unwrap_or(0), rows)
        }
        (View::Events(asked), SearchFrom::Row(row)) => {
            let all = events(&EventsRequest { at: EventsAt::Row(0), rows: LIST as usize, ..*asked }).rows;
            let hits = (0..all.len()).filter(|&row| finds(&all[row].name) || finds(&all[row].thread_name));
            (hits.collect(), row as usize, Vec::new())
        }
        (View::Memory(asked), SearchFrom::Row(row)) => (crate::memory::found(asked, finds), row as usize, Vec::new()),
        (View::Heatmap(_), SearchFrom::Row(row)) => (crate::heat::found(finds), row as usize, Vec::new()),
        (View::Output(_), SearchFrom::Row(row)) => {
            let all = output(&OutputRequest { first: 0, rows: LIST as usize }).lines;
            let text = request.text.to_lowercase();
            let hits = (0..all.len()).filter(|&row| all[row].1.to_lowercase().contains(&text));
            (hits.collect(), row as usize, Vec::new())
        }
        _ => (Vec::new(), 0, Vec::new()),
    };
    let near = match request.step {
        Step::Here => hits.iter().position(|&row| row >= cursor),
        Step::Next => hits.iter().position(|&row| row > cursor),
        _ => hits.iter().rposition(|&row| row < cursor),
    };
    let far = if request.step == Step::Previous { hits.len().checked_sub(1) } else { (!hits.is_empty()).then_some(0) };
    let found = near.or(far).map(|at| Found {
        target: if tree.is_empty() { Target::Row(hits[at] as u64) } else { node(&tree, hits[at]) },
        number: Some(at as u64 + 1),
        place: if tree.is_empty() { "in thread main" } else { "in 4121 python, main, folded" }.to_owned(),
        wrapped: near.is_none(),
    });
    SearchAnswer { id: request.id, count: hits.len() as u64, found, ..SearchAnswer::default() }
}

/// What a row is like, by its label: what stands here holds nothing that a filter would read otherwise.
fn like(row: &CallRow) -> Option<Condition> {
    let field = match row.kind {
        NodeKind::Process => TextField::Process,
        NodeKind::Thread => TextField::Thread,
        NodeKind::Site => TextField::Site,
        NodeKind::Runtime | NodeKind::Driver => TextField::Api,
        NodeKind::Kernel => TextField::Kernel,
        _ => return None,
    };
    Some(Condition::Text(field, Pattern::Glob(row.label.clone())))
}

fn about(view: &View, request: &SearchRequest) -> SearchAnswer {
    let about = match (view, request.from) {
        (View::Calls(asked), SearchFrom::Node(Some(key))) => {
            let all = CallsRequest { first: 0, rows: usize::MAX, ..asked.clone() };
            let row = calls(&all, false).rows.into_iter().find(|row| row.key == key);
            About { like: row.as_ref().and_then(like), span: Some((1_500_000_000, 2_000_000_000)) }
        }
        (View::Events(asked), SearchFrom::Row(row)) => {
            let rows = events(&EventsRequest { at: EventsAt::Row(row), rows: 1, ..*asked }).rows;
            let like = rows.first().map(|row| Condition::Text(TextField::Api, Pattern::Glob(row.name.clone())));
            About { like, span: None }
        }
        (View::Overview { .. }, SearchFrom::Thing(_)) => {
            About { like: None, span: Some((1_000_000_000, 3_000_000_000)) }
        }
        _ => About::default(),
    };
    SearchAnswer { id: request.id, about: Some(about), ..SearchAnswer::default() }
}

fn node(rows: &[CallRow], at: usize) -> Target {
    let mut path = Vec::new();
    let mut parent = rows[at].parent;
    while let Some(row) = parent.and_then(|key| rows.iter().find(|row| row.key == key)) {
        path.push((row.key, row.depth));
        parent = row.parent;
    }
    path.reverse();
    Target::Node { key: rows[at].key, path }
}

/// The best names: of the tree's rows by thread, each once.
fn names(request: &SearchRequest, limit: usize) -> SearchAnswer {
    let pattern = Sought::new(&request.text);
    let folds = Arc::new(Folds { open_depth: u16::MAX, ..Folds::default() });
    let sort = (Column::Total, true);
    let all = CallsRequest { grouping: Grouping::Thread, sort, folds, cursor: None, first: 0, rows: usize::MAX };
    let rows = calls(&all, false).rows;
    let kind = |row: &CallRow| match row.kind {
        NodeKind::Process => EntryKind::Process,
        NodeKind::Thread => EntryKind::Thread,
        NodeKind::Site => EntryKind::Site,
        _ => EntryKind::Function,
    };
    let mut entries: Vec<Entry> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let found = pattern.as_ref().is_none_or(|pattern| pattern.finds(&row.label));
        if found && !entries.iter().any(|entry| entry.label == row.label) {
            entries.push(Entry {
                like: like(row),
                kind: kind(row),
                label: row.label.clone(),
                grouping: Grouping::Thread,
                target: node(&rows, at),
                total_ns: row.total_ns,
                count: row.count,
            });
        }
    }
    if let Some(pattern) = &pattern {
        entries.sort_by_key(|entry| std::cmp::Reverse(pattern.score(&entry.label)));
    }
    let count = entries.len() as u64;
    entries.truncate(limit);
    SearchAnswer { id: request.id, count, entries, ..SearchAnswer::default() }
}
