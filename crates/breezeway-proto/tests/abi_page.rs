//! `docs/abi.md` is normative: its tables of kinds and flags and the code's constants are the same.

use breezeway_proto::validate::{Side, WINDOW_LEN, validate};
use breezeway_proto::{Flags, Kind, RawHead};

const PAGE: &str = include_str!("../../../docs/abi.md");

/// The cells of a table's rows, without its heading.
fn table(name: &str) -> Vec<Vec<String>> {
    let begin = format!("<!-- table: {name} -->");
    let (_, rest) = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no table {name}"));
    let (table, _) = rest.split_once("<!-- end -->").expect("the table ends");
    let rows: Vec<Vec<String>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(!rows.is_empty(), "table {name} is empty");
    rows
}

/// A number as the page writes it: `4096` or `0x1000`.
fn number(cell: &str) -> usize {
    let parsed = match cell.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16),
        None => cell.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{cell:?} is not a number"))
}

/// Returns true if an entry of this kind breaks no rule at either end. Those about segments are
/// taken before [`validate`].
fn is_used(kind: Kind) -> bool {
    let head = RawHead { kind: kind as u8, ..RawHead::default() };
    let lengths = [0, WINDOW_LEN];
    matches!(kind, Kind::SegmentAdd | Kind::SegmentRetire)
        || [Side::Server, Side::Client { going_away: false }]
            .into_iter()
            .any(|side| lengths.iter().any(|&len| validate(head, len, side).is_ok()))
}

#[test]
fn the_kinds() {
    let rows = table("kind");
    for (index, row) in rows.iter().enumerate() {
        let (kind, spelled) = (number(&row[0]), &row[1]);
        assert_eq!(kind, index, "the rows are in order and without a gap");
        let Some(kind) = Kind::from_number(kind as u8) else {
            assert_eq!((spelled.as_str(), row[3].as_str()), ("(none)", "violation"));
            continue;
        };
        assert_eq!(is_used(kind), row[3] == "used", "{spelled}");
        let plain = |text: &str| text.to_lowercase().replace([' ', '-'], "");
        assert_eq!(plain(&format!("{kind:?}")), plain(spelled));
    }
    for beyond in rows.len()..=usize::from(u8::MAX) {
        assert_eq!(Kind::from_number(beyond as u8), None);
    }
}

#[test]
fn the_flags() {
    let named = [
        (Flags::OPEN, "OPEN"),
        (Flags::FIN, "FIN"),
        (Flags::LENT, "LENT"),
        (Flags::ERROR, "ERROR"),
        (Flags::NO_REPLY, "NO_REPLY"),
        (Flags::METADATA, "METADATA"),
        (Flags::EMPTY, "EMPTY"),
        (Flags::STREAM, "STREAM"),
    ];
    let rows = table("flag");
    let found: Vec<_> = rows.iter().map(|row| (number(&row[0]), row[1].clone())).collect();
    let expected = named.map(|(flag, name)| (usize::from(flag.bits()), name.to_owned()));
    assert_eq!(found, expected);
    let all = found.iter().fold(0, |all, (bit, _)| all | bit);
    assert_eq!(all, usize::from(u8::MAX), "every bit has a meaning");
}
