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

#[test]
fn a_filter_that_is_looked_through_by_its_name_is_what_its_file_says_now() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("mine.expr"), text).unwrap();
    write("api:cudaMalloc\n");
    let mut lenses = Lenses::new(Look::default(), Some(folder.path().to_owned()));
    assert_eq!(lenses.read_names_again(), None);
    lenses.begin();
    lenses.entered("mine").unwrap();
    assert_eq!(lenses.read_names_again(), None, "nothing has changed");
    lenses.range(Some((5, 9).into()));
    write("api:cudaFree\n");
    assert!(lenses.read_names_again().unwrap().contains("mine has changed"));
    assert_eq!(lenses.lens().condition, Some(Arc::new(condition("api:cudaFree"))));
    // That was no change of the user's, and what is undone is of the file as it is.
    assert!(lenses.undo() && lenses.now().range.is_none());
    assert_eq!(lenses.lens().condition, Some(Arc::new(condition("api:cudaFree"))));
    write("api: (\n");
    assert!(lenses.read_names_again().unwrap().contains("stays what it was"));
    assert_eq!(lenses.lens().condition, Some(Arc::new(condition("api:cudaFree"))));
    std::fs::remove_file(folder.path().join("mine.expr")).unwrap();
    assert!(lenses.read_names_again().unwrap().contains("no filter mine any more"));
    // Of a preset's name the user's file comes first, and what was typed is not read from a file.
    lenses.begin();
    lenses.entered("errors").unwrap();
    std::fs::write(folder.path().join("errors.expr"), "dur>=1s\n").unwrap();
    assert!(lenses.read_names_again().is_some());
    assert_eq!(lenses.lens().condition, Some(Arc::new(condition("dur>=1s"))));
    lenses.begin();
    lenses.entered("failed").unwrap();
    std::fs::write(folder.path().join("failed.expr"), "dur>=1s\n").unwrap();
    assert_eq!(lenses.read_names_again(), None);
    lenses.begin();
    lenses.entered("errors").unwrap();
    lenses.renamed("errors", "slow");
    assert_eq!(text(&lenses), "slow");
}
