//! The known name that an unknown one was probably meant to be.

/// The nearest of some names, if one is near.
#[must_use]
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any name: a mistake of another kind, and not worth the time.
    if unknown.len() > 64 {
        return None;
    }
    let unknown = unknown.to_lowercase();
    let near = |name: &&str| {
        let distance = strsim::osa_distance(&unknown, &name.to_lowercase());
        // Half a name is the most that may differ, and three letters.
        (distance <= 3 && distance * 2 <= unknown.chars().count().max(1)).then_some(distance)
    };
    known.into_iter().filter_map(|name| Some((near(&name)?, name))).min_by_key(|(distance, _)| *distance).map(|n| n.1)
}

/// `; did you mean 'name'?`, or nothing.
#[must_use]
pub fn hint<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(unknown, known).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["fold-all", "unfold-all", "follow", "top"];
        for (slip, meant) in [
            ("fold-al", Some("fold-all")),
            ("fodl-all", Some("fold-all")),
            ("Fold-All", Some("fold-all")),
            ("folow", Some("follow")),
            ("tpo", Some("top")),
            ("quit", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(slip, known), meant, "{slip}");
        }
        assert_eq!(hint("folow", known), "; did you mean 'follow'?");
        assert_eq!(nearest(&"x".repeat(1 << 20), known), None);
    }
}
