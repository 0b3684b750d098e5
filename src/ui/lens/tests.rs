use super::*;

fn condition(text: &str) -> Condition {
    expression::read("", text).unwrap()
}

fn text(lenses: &Lenses) -> &str {
    lenses.now().filter.as_ref().map_or("", |filter| filter.text.as_str())
}

#[test]
fn every_change_is_undone_one_by_one() {
    let mut lenses = Lenses::default();
    assert!(!lenses.undo());
    lenses.entered("api:cudaMalloc*").unwrap();
    assert!(lenses.range(Some((5, 9).into())));
    assert!(!lenses.range(Some((5, 9).into())), "the same again is no change");
    assert!(lenses.toggle());
    assert!(lenses.lens().is_clear());
    assert!(lenses.undo() && lenses.lens().range == Some((5, 9).into()));
    assert!(lenses.undo() && lenses.lens().range.is_none());
    assert_eq!(text(&lenses), "api:cudaMalloc*");
    assert!(lenses.undo() && !lenses.undo());
    assert!(lenses.lens().is_clear() && !lenses.toggle());
    assert!(!lenses.range(Some((0, u64::MAX).into())), "all time is no range");
}

#[test]
fn typing_shows_what_can_be_read_and_esc_goes_back() {
    let mut lenses = Lenses::default();
    lenses.entered("failed").unwrap();
    assert_eq!(lenses.begin(), "failed");
    lenses.typed("api:x").unwrap();
    let seen = lenses.lens();
    assert!(lenses.typed("api:x kernal:").is_err());
    assert_eq!(lenses.lens(), seen, "the last that could be read");
    assert!(lenses.entered("(").is_err());
    lenses.cancelled();
    assert_eq!((text(&lenses), lenses.lens().condition), ("failed", Some(Arc::new(condition("failed")))));
    lenses.begin();
    lenses.entered(" ").unwrap();
    assert!(lenses.lens().is_clear());
    assert!(lenses.undo());
    assert_eq!(text(&lenses), "failed");
    lenses.entered("slow-calls").unwrap();
    assert_eq!(text(&lenses), "slow-calls");
}

#[test]
fn like_this_adds_takes_away_and_is_turned_round() {
    let mut lenses = Lenses::default();
    assert!(!lenses.invert());
    lenses.like(condition("api:a"));
    lenses.like(condition("thread:7"));
    assert_eq!(text(&lenses), "api:a thread:7");
    lenses.invert();
    assert_eq!(text(&lenses), "api:a -thread:7");
    lenses.invert();
    assert_eq!(text(&lenses), "api:a thread:7");
    lenses.like(condition("thread:7"));
    assert_eq!(text(&lenses), "api:a");
    lenses.invert();
    assert_eq!(text(&lenses), "-api:a");
    lenses.like(condition("api:a"));
    lenses.clear();
    lenses.like(condition("api:a"));
    lenses.like(condition("api:a"));
    assert_eq!(text(&lenses), "");
}
