//! Section 9 of `docs/abi.md` and the code's constants are the same.

use crate::page::{PAGE, name, number, table};
use breezeway_shm::statistics::{CAPACITY, Field, HEADER_SIZE, MAGIC, RECORD_SIZE, VERSION};

#[test]
fn the_numbers_of_a_record() {
    let rows = table("statistics record");
    let numbers = &rows[8..];
    assert_eq!(numbers.len(), Field::ALL.len());
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(number(&row[0]), 8 * index, "without a gap");
    }
    for (row, field) in numbers.iter().zip(Field::ALL) {
        assert_eq!((number(&row[0]), name(&row[1])), (field.offset(), field.name()));
    }
    assert!(8 * rows.len() <= RECORD_SIZE);
}

#[test]
fn the_header() {
    let names: Vec<_> =
        table("statistics header").iter().map(|row| name(&row[2]).to_owned()).collect();
    let expected =
        ["magic", "version", "record_size", "capacity", "used", "opened", "unrecorded", "since"];
    assert_eq!(names, expected);
    assert_eq!(MAGIC.to_le_bytes(), *b"BRZWSTAT");
    let sizes = format!("a header of {HEADER_SIZE} bytes and `capacity` records of {RECORD_SIZE}");
    assert!(PAGE.contains(&sizes), "{sizes}");
    assert!(PAGE.contains("there are 4,096") && CAPACITY == 4_096);
    assert!(PAGE.contains("| 0x008 | 8 | version | 1 |") && VERSION == 1);
}
