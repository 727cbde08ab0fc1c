//! Section 9 of `docs/abi.md` and the code's constants are the same.

use breezeway_adversary::abi_page::{PAGE, name, number, table};
use breezeway_shm::statistics::{
    CAPACITY, Field, HEADER_SIZE, MAGIC, RECORD_SIZE, TIMES_SIZE, VERSION, shortest,
};

#[test]
fn the_numbers_of_a_record() {
    let rows = table("statistics record");
    let numbers = &rows[8..];
    assert_eq!(numbers.len(), Field::ALL.len());
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(number(row[0]), 8 * index, "without a gap");
    }
    for (row, field) in numbers.iter().zip(Field::ALL) {
        assert_eq!((number(row[0]), name(row[1])), (field.offset(), field.name()));
    }
    assert!(8 * rows.len() <= RECORD_SIZE);
}

#[test]
fn the_header() {
    let names: Vec<_> =
        table("statistics header").iter().map(|row| name(row[2]).to_owned()).collect();
    let expected = [
        "magic",
        "version",
        "record_size",
        "capacity",
        "used",
        "opened",
        "unrecorded",
        "since",
        "times_offset",
        "times_size",
    ];
    assert_eq!(names, expected);
    assert_eq!(MAGIC.to_le_bytes(), *b"BRZWSTAT");
    let sizes = format!("a header of {HEADER_SIZE} bytes, `capacity` records of {RECORD_SIZE}");
    assert!(PAGE.contains(&sizes), "{sizes}");
    assert!(PAGE.contains("there are 4,096") && CAPACITY == 4_096);
    assert!(PAGE.contains("| 0x008 | 8 | version | 1 |") && VERSION == 1);
}

#[test]
fn the_times() {
    assert!(PAGE.contains(&format!("| 0x048 | 8 | times_size | {TIMES_SIZE}: ")));
    assert!(PAGE.contains("are 128 words at `times_offset`") && TIMES_SIZE == 8 * 128);
    for word in 0..128u64 {
        let length = (4 + word % 4) * (1 << (2 + word / 4));
        assert_eq!(shortest(word as usize), length);
    }
    assert_eq!(shortest(127) / 1_000_000_000, 60);
}
