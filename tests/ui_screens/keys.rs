//! docs/keys.md is what the table says.

use umtui::ui::keys::markdown;

#[test]
fn the_page_and_the_table_are_equal() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
    let written = markdown::document();
    if std::env::var_os("UMTUI_WRITE_DOCS").is_some() {
        std::fs::write(page, &written).expect("write docs/keys.md");
    }
    let read = std::fs::read_to_string(page).unwrap_or_default();
    assert_eq!(read, written, "run: UMTUI_WRITE_DOCS=1 cargo test --test ui_screens the_page");
}
