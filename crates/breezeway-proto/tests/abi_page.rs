//! `docs/abi.md` is normative: its tables of kinds and flags and the code's constants are the same.

use breezeway_adversary::abi_page::{number, table};
use breezeway_proto::validate::{Side, WINDOW_LEN, validate};
use breezeway_proto::{Flags, Kind, RawHead};

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
        let (kind, spelled) = (number(row[0]), row[1]);
        assert_eq!(kind, index, "the rows are in order and without a gap");
        let Some(kind) = Kind::from_number(kind as u8) else {
            assert_eq!((spelled, row[3]), ("(none)", "violation"));
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
    let found: Vec<_> = rows.iter().map(|row| (number(row[0]), row[1])).collect();
    let expected = named.map(|(flag, name)| (usize::from(flag.bits()), name));
    assert_eq!(found, expected);
    let all = found.iter().fold(0, |all, (bit, _)| all | bit);
    assert_eq!(all, usize::from(u8::MAX), "every bit has a meaning");
}
