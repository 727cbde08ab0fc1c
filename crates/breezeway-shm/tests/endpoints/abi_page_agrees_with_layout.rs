//! `docs/abi.md` is normative: its tables and the code's constants agree, and the code writes its
//! fields at the offsets of the page.

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_adversary::abi_page::{PAGE, bytes, name, number, table};
use breezeway_shm::layout::*;
use breezeway_shm::{Body, Head, Want};

/// Offsets and sizes, by name, in the order of the page.
fn fields(name_of_table: &str) -> Vec<(usize, usize, String)> {
    table(name_of_table)
        .iter()
        .map(|row| (number(row[0]), number(row[1]), name(row[2]).to_owned()))
        .collect()
}

fn message(stream: u32, tag: u32) -> Head {
    Head { kind: MESSAGE, flags: OPEN | FIN, stream, tag, time: 0 }
}

#[test]
fn the_fields_of_the_control_segment() {
    let ring_capacity = 64;
    let expected = [
        (CONTROL_MAGIC_AT, 8, "magic"),
        (CONTROL_VERSION_AT, 8, "abi_version"),
        (CONTROL_CAPACITY_AT, 8, "ring_capacity"),
        (CONTROL_LENDS_AT, 8, "lend_count"),
        (CONSUMED_AT, 8, "consumed"),
        (DATA_WAKE_AT, 8, "data_wake"),
        (SPACE_WAKE_AT, 8, "space_wake"),
        (CPU_AT, 8, "cpu"),
        (RELEASE_WAKE_AT, 8, "release_wake"),
        (RELEASED_AT, *LEND_COUNT.end() as usize / 8, "released"),
    ]
    .map(|(offset, size, name)| (offset, size, name.to_owned()));
    let rows = table("control");
    let (ring, others) = rows.split_last().unwrap();
    let found: Vec<_> = others
        .iter()
        .map(|row| (number(row[0]), number(row[1]), name(row[2]).to_owned()))
        .collect();
    assert_eq!(found, expected);
    assert_eq!((number(ring[0]), name(ring[2])), (RING_AT, "ring"));
    assert_eq!(ring[1], format!("{ENTRY_SIZE} × ring_capacity"));
    for pair in expected.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:?} overlap");
    }
    for fields in expected {
        assert_eq!(fields.0 % 8, 0, "{fields:?} is not aligned");
    }
    assert!(PAGE.contains("`size = 4096 + 128 × ring_capacity`, rounded up to 4096."));
    let size = 4096 + 128 * ring_capacity;
    assert_eq!(control_size(ring_capacity), (size as usize).next_multiple_of(4096));
}

#[test]
fn the_words_for_tools() {
    let Pair { one, other, one_control, .. } =
        Pair::new(Terms { ring_capacity: 16, lend_count: 128, ..Terms::default() });
    let rows = table("control");
    let at = |wanted: &str| number(rows.iter().find(|row| name(row[2]) == wanted).unwrap()[0]);
    let magic = rows.iter().find(|row| name(row[2]) == "magic").unwrap();
    assert_eq!(one_control.bytes::<8>(at("magic")).to_vec(), bytes(magic[2]));
    assert_eq!(CONTROL_MAGIC.to_le_bytes().to_vec(), bytes(magic[2]));
    assert_eq!(one_control.word(at("abi_version")), 2);
    assert_eq!(one_control.word(at("ring_capacity")), 16);
    assert_eq!(one_control.word(at("lend_count")), 128);
    assert_eq!(ABI_VERSION, 2);
    drop((one, other));
}

#[test]
fn progress_intents_and_releases_match_the_page() {
    let mut pair = Pair::new(Terms::default());
    let fields = fields_by_name();
    let own = |offset: usize| pair.other_control.word(offset);
    assert_eq!(own(fields("data_wake")), NO_WAKE, "the idle value is u64::MAX");
    assert_eq!(own(fields("space_wake")), NO_WAKE);
    assert_eq!(NO_WAKE, u64::MAX);
    for call in 0..3 {
        pair.one.send(message(2 * call + 1, 0), Body::Bytes(b"x")).unwrap();
        assert!(take(&mut pair.other).unwrap());
        pair.other.finish().unwrap();
    }
    assert!(pair.other.prepare_sleep(Want::Data, None).unwrap());
    let own = |offset: usize| pair.other_control.word(offset);
    assert_eq!(own(fields("consumed")), 3);
    assert_eq!(own(fields("data_wake")), 3);
    assert!(pair.other.prepare_sleep(Want::Consumed(7), None).unwrap());
    let own = |offset: usize| pair.other_control.word(offset);
    assert_eq!(own(fields("space_wake")), 7);
    let cpu = own(fields("cpu"));
    assert!((1..=4096).contains(&cpu), "1 + a CPU: {cpu}");
    // Two lent payloads: one release travels in an entry, the other has its bit.
    for call in 0..2 {
        let mut space = pair.one.reserve(200).unwrap();
        pair.one.send(message(2 * call + 7, 0), Body::Space(&mut space)).unwrap();
    }
    for _ in 0..2 {
        assert!(take(&mut pair.other).unwrap());
        pair.other.finish().unwrap();
    }
    pair.other.flush().unwrap();
    assert_eq!(pair.other_control.word(fields("released")), 0b11, "lend numbers 0 and 1");
}

/// Returns the offsets of the control segment's fields, from the page.
fn fields_by_name() -> impl Fn(&str) -> usize {
    let rows = table("control");
    move |wanted| number(rows.iter().find(|row| name(row[2]) == wanted).unwrap()[0])
}

#[test]
fn the_fields_of_an_entry() {
    let fields = fields("entry");
    let names: Vec<&str> = fields.iter().map(|(_, _, name)| &**name).collect();
    assert_eq!(
        names,
        ["sequence", "kind", "flags", "len", "stream", "tag", "released", "time", "body"]
    );
    let mut end = 0;
    for (offset, size, name) in &fields {
        assert_eq!(*offset, end, "{name} begins where the field before ends");
        end += size;
    }
    assert_eq!(end, ENTRY_SIZE);
    assert_eq!(ENTRY_WORDS * 8, ENTRY_SIZE);
    let body = fields.last().unwrap();
    assert_eq!((body.0, body.1), (BODY_WORD * 8, INLINE_MAX));
    assert_eq!(INLINE_FIRST_LINE, FIRST_LINE_WORDS * 8 - body.0);

    // The values are written at these offsets.
    let mut pair = Pair::new(Terms::default());
    let head = Head { kind: MESSAGE, flags: 0x0a, stream: 0x4433_2211, tag: 0x8877_6655, time: 0 };
    pair.one.send(head, Body::Bytes(&[0x99; 5])).unwrap();
    let entry: [u8; ENTRY_SIZE] = pair.one_control.bytes(RING_AT);
    let at = |wanted: &str| {
        let (offset, size, _) = fields.iter().find(|(_, _, name)| name == wanted).unwrap();
        &entry[*offset..offset + size]
    };
    assert_eq!(at("sequence"), 1u64.to_le_bytes());
    assert_eq!(at("kind"), [1]);
    assert_eq!(at("flags"), [0x0a]);
    assert_eq!(at("len"), 5u16.to_le_bytes());
    assert_eq!(at("stream"), 0x4433_2211u32.to_le_bytes());
    assert_eq!(at("tag"), 0x8877_6655u32.to_le_bytes());
    assert_eq!(at("released"), [0; 2]);
    assert_eq!(at("time"), [0; 2]);
    assert_eq!(at("body")[..6], [0x99, 0x99, 0x99, 0x99, 0x99, 0]);
}

#[test]
fn the_kinds_and_the_flag_of_memory() {
    let is_row = |table_of: &str, number_of: u8, named: &str| {
        table(table_of).iter().any(|row| {
            number(row[0]) == usize::from(number_of) && row[1].eq_ignore_ascii_case(named)
        })
    };
    assert!(is_row("kind", MESSAGE, "message"));
    assert!(is_row("kind", SEGMENT_ADD, "segment add"));
    assert!(is_row("kind", SEGMENT_RETIRE, "segment retire"));
    assert!(is_row("flag", LENT, "LENT"));
}

#[test]
fn the_descriptor() {
    let rows = table("descriptor");
    let fields: Vec<_> =
        rows.iter().map(|row| (number(row[0]), number(row[1]), name(row[2]))).collect();
    assert_eq!(
        fields,
        [
            (0, 4, "segment"),
            (4, 4, "lend number"),
            (8, 8, "offset in the segment"),
            (16, 8, "length")
        ]
    );
    let mut pair = Pair::new(Terms::default());
    // The second payload of the second segment, with the fourth lend number.
    let small: Vec<_> = (0..2).map(|_| pair.one.reserve(25_000).unwrap()).collect();
    let mut spaces: Vec<_> = (0..2).map(|_| pair.one.reserve(200_000).unwrap()).collect();
    let space = spaces.last_mut().unwrap();
    pair.one.send(message(1, 0), Body::Space(space)).unwrap();
    let position = pair.one.published() - 1;
    let entry: [u8; ENTRY_SIZE] = pair.one_control.bytes(RING_AT + position as usize * ENTRY_SIZE);
    let body = &entry[BODY_WORD * 8..];
    assert_eq!(entry[10..12], 24u16.to_le_bytes());
    assert_eq!(body[0..4], 1u32.to_le_bytes(), "segment");
    assert_eq!(body[4..8], 3u32.to_le_bytes(), "lend number");
    let offset = u64::from_le_bytes(body[8..16].try_into().unwrap());
    assert!(offset >= 200_000, "behind a payload of 200,000 bytes: {offset}");
    assert_eq!(body[16..24], 200_000u64.to_le_bytes(), "length");
    drop(small);
}
