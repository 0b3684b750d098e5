use super::*;
use crate::session::view::{HeatCell, HeatLine};

const ROOM: Size = Size::new(60, 16);

fn rows() -> HeatRows {
    let line = |row: u64| HeatLine {
        at: (0, row << 22),
        to: (row + 1) << 22,
        place: (row == 0).then_some(1),
        offset: row << 22,
        cells: vec![HeatCell::default(); 60],
    };
    HeatRows {
        subject: HeatSubject::One(0, 0),
        number: 1,
        places: 2,
        next: HeatSubject::One(0, 1 << 40),
        previous: HeatSubject::All,
        bits: 22,
        first: 0,
        total: 32,
        from_ns: 1_000_000,
        column_ns: 10_000,
        span: (1_000_000, 5_000_000),
        lines: (0..16).rev().map(line).collect(),
        moves: vec![HeatMark::Nothing; 60],
        ..HeatRows::default()
    }
}

fn state() -> State {
    State { rows: Some(rows()), ..State::default() }
}

#[test]
fn the_cursor_moves_and_at_the_edge_the_picture_does() {
    let mut state = state();
    update(&mut state, Action::Down, ROOM);
    update(&mut state, Action::Later, ROOM);
    assert_eq!((state.cursor, state.at, state.time), ((1, 1), HeatRowsAt::Fit, HeatTimeAt::Fit));
    update(&mut state, Action::Up, ROOM);
    update(&mut state, Action::Up, ROOM);
    assert_eq!((state.cursor.0, state.at), (0, HeatRowsAt::From(22, 1)));
    update(&mut state, Action::Top, ROOM);
    assert_eq!((state.cursor.0, state.at), (0, HeatRowsAt::From(22, 16)));
    update(&mut state, Action::Bottom, ROOM);
    assert_eq!((state.cursor.0, state.at), (15, HeatRowsAt::From(22, 0)));
    update(&mut state, Action::Earlier, ROOM);
    update(&mut state, Action::Earlier, ROOM);
    assert_eq!((state.cursor.1, state.time), (0, HeatTimeAt::Fit), "there is nothing before");
    update(&mut state, Action::LaterPage, ROOM);
    update(&mut state, Action::LaterPage, ROOM);
    assert_eq!((state.cursor.1, state.time), (59, HeatTimeAt::From(1_010_000, 10_000)));
}

#[test]
fn to_zoom_keeps_the_cursor_where_it_is() {
    let mut state = state();
    state.cursor = (4, 20);
    let middle = 1_000_000 + 20 * 10_000 + 5_000;
    for _ in 0..9 {
        update(&mut state, Action::ZoomTimeIn, ROOM);
    }
    let HeatTimeAt::From(from, width) = state.time else { panic!() };
    assert_eq!(width, NARROWEST);
    assert!(from + 20 * width <= middle && middle <= from + 21 * width);
    update(&mut state, Action::ZoomRowsIn, ROOM);
    // Line 4 is row 11.
    assert_eq!(state.at, HeatRowsAt::Around(21, (0, (11 << 22) + (1 << 21)), 4));
    let found = HeatRows { bits: 21, first: 12, found: Some(4), ..rows() };
    state.take(found, true);
    assert_eq!((state.cursor.0, state.at), (4, HeatRowsAt::From(21, 12)));
    update(&mut state, Action::ShowAll, ROOM);
    assert_eq!((state.at, state.time), (HeatRowsAt::Fit, HeatTimeAt::Fit));
    assert_eq!(update(&mut state, Action::ShowAll, ROOM), Effect::Range(None));
}

#[test]
fn to_fit_is_to_zoom_to_where_something_happened() {
    let mut state = state();
    update(&mut state, Action::Fit, ROOM);
    assert_eq!((state.at, state.time), (HeatRowsAt::Fit, HeatTimeAt::Fit), "nothing did");
    let mut picture = rows();
    for column in 10..40 {
        picture.moves[column] = HeatMark::ToDevice;
        picture.lines[9].cells[column] = HeatCell { shade: 2, mark: HeatMark::ToDevice };
    }
    state.rows = Some(picture);
    update(&mut state, Action::Fit, ROOM);
    assert_eq!(state.time, HeatTimeAt::From(1_100_000, 5_000));
    assert_eq!(state.at, HeatRowsAt::Around(18, (0, 6 << 22), 15));
}

#[test]
fn a_range_is_chosen_and_looked_at() {
    let mut state = state();
    state.cursor.1 = 10;
    update(&mut state, Action::SelectRange, ROOM);
    update(&mut state, Action::EarlierPage, ROOM);
    assert_eq!(state.chosen_range(), Some((1_000_000, 1_110_000)));
    assert_eq!(update(&mut state, Action::Open, ROOM), Effect::Range(Some((1_000_000, 1_110_000).into())));
    assert_eq!(state.selecting, None);
}

#[test]
fn places_follow_one_another_and_all_of_them() {
    let mut state = state();
    update(&mut state, Action::NextPlace, ROOM);
    assert_eq!(state.subject, HeatSubject::One(0, 1 << 40));
    update(&mut state, Action::AllPlaces, ROOM);
    assert_eq!(state.subject, HeatSubject::All);
    state.rows.as_mut().unwrap().subject = HeatSubject::All;
    update(&mut state, Action::AllPlaces, ROOM);
    assert_eq!(state.subject, HeatSubject::One(0, 15 << 22), "that of the cursor");
    for colour in [HeatColour::Faults, HeatColour::Alternations, HeatColour::Residency, HeatColour::Bytes] {
        update(&mut state, Action::Colour, ROOM);
        assert_eq!(state.colour, colour);
    }
}
