use std::collections::BTreeSet;

use super::*;

#[test]
fn each_metric_has_a_unique_conforming_name() {
    let recorded = Field::ALL.iter().filter(|&&field| !matches!(kind(field), Kind::OfOneSession));
    let mut names = BTreeSet::new();
    for &field in recorded {
        let name = name(field);
        let is_word = |char: char| char.is_ascii_lowercase() || char == '_';
        assert!(name.starts_with("breezeway_") && name.chars().all(is_word), "{name}");
        assert_eq!(name.ends_with("_total"), matches!(kind(field), Kind::Count), "{name}");
        let is_bytes = matches!(unit(field), Some(Unit::Bytes));
        assert_eq!(name.contains("bytes"), is_bytes, "{name}");
        assert!(!field.description().starts_with(' '), "{:?}", field.description());
        assert!(names.insert(name), "{field:?}");
    }
    assert!(names.len() > 25, "{names:?}");
}
