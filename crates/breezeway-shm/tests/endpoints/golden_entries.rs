//! Published entries, byte for byte, against hex written by hand from sections 4 and 4.2 of
//! `docs/abi.md`.

use crate::support::{FIN, OPEN, Pair, Terms, take};
use breezeway_shm::layout::MESSAGE;
use breezeway_shm::{Body, Head};

/// The bytes of hex digits; white space separates.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let text = |pair: &[u8]| String::from_utf8(pair.to_vec()).unwrap();
    digits.chunks(2).map(|pair| u8::from_str_radix(&text(pair), 16).unwrap()).collect()
}

/// The entry at a position of the first ring.
fn entry(pair: &Pair, position: usize) -> Vec<u8> {
    pair.one_control.bytes::<128>(0x1000 + 128 * position).to_vec()
}

const REQUEST: Head =
    Head { kind: MESSAGE, flags: OPEN | FIN, stream: 0x0a0b_0c0d, tag: 0x0102_0304, time: 0 };

fn counting(len: u8) -> Vec<u8> {
    (0..len).collect()
}

#[test]
fn a_request_without_a_body() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(REQUEST, Body::Bytes(&[])).unwrap();
    let expected = hex("
        01 00 00 00 00 00 00 00   01 03 00 00  0d 0c 0b 0a   04 03 02 01  00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    assert_eq!(entry(&pair, 0)[..64], expected);
    assert_eq!(entry(&pair, 0)[64..], [0; 64], "the second line was never written");
    assert_eq!(entry(&pair, 1), [0; 128], "nor was the next entry");
}

#[test]
fn a_request_that_fills_the_first_line() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(REQUEST, Body::Bytes(&counting(40))).unwrap();
    let expected = hex("
        01 00 00 00 00 00 00 00   01 03 28 00  0d 0c 0b 0a   04 03 02 01  00 00 00 00
        00 01 02 03 04 05 06 07   08 09 0a 0b 0c 0d 0e 0f   10 11 12 13 14 15 16 17
        18 19 1a 1b 1c 1d 1e 1f   20 21 22 23 24 25 26 27
    ");
    assert_eq!(entry(&pair, 0)[..64], expected);
    assert_eq!(entry(&pair, 0)[64..], [0; 64]);
}

#[test]
fn a_request_that_reaches_the_second_line() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(REQUEST, Body::Bytes(&counting(41))).unwrap();
    let expected = hex("
        01 00 00 00 00 00 00 00   01 03 29 00  0d 0c 0b 0a   04 03 02 01  00 00 00 00
        00 01 02 03 04 05 06 07   08 09 0a 0b 0c 0d 0e 0f   10 11 12 13 14 15 16 17
        18 19 1a 1b 1c 1d 1e 1f   20 21 22 23 24 25 26 27

        28 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    assert_eq!(entry(&pair, 0), expected);
}

#[test]
fn a_request_that_fills_the_entry() {
    let mut pair = Pair::new(Terms::default());
    pair.one.send(REQUEST, Body::Bytes(&counting(104))).unwrap();
    let expected = hex("
        01 00 00 00 00 00 00 00   01 03 68 00  0d 0c 0b 0a   04 03 02 01  00 00 00 00
        00 01 02 03 04 05 06 07   08 09 0a 0b 0c 0d 0e 0f   10 11 12 13 14 15 16 17
        18 19 1a 1b 1c 1d 1e 1f   20 21 22 23 24 25 26 27

        28 29 2a 2b 2c 2d 2e 2f   30 31 32 33 34 35 36 37   38 39 3a 3b 3c 3d 3e 3f
        40 41 42 43 44 45 46 47   48 49 4a 4b 4c 4d 4e 4f   50 51 52 53 54 55 56 57
        58 59 5a 5b 5c 5d 5e 5f   60 61 62 63 64 65 66 67
    ");
    assert_eq!(entry(&pair, 0), expected);
}

#[test]
fn the_second_line_is_written_only_when_the_body_reaches_it() {
    let mut pair = Pair::new(Terms { ring_capacity: 8, ..Terms::default() });
    for _ in 0..8 {
        pair.one.send(REQUEST, Body::Bytes(&[0xaa; 104])).unwrap();
        assert!(take(&mut pair.other).unwrap());
        pair.other.finish().unwrap();
    }
    pair.other.flush().unwrap();
    pair.one.send(REQUEST, Body::Bytes(&counting(1))).unwrap();
    let expected = hex("
        09 00 00 00 00 00 00 00   01 03 01 00  0d 0c 0b 0a   04 03 02 01  00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    assert_eq!(entry(&pair, 0)[..64], expected);
    assert_eq!(entry(&pair, 0)[64..], [0xaa; 64], "what the lap before left");
}

#[test]
fn a_segment_and_a_request_that_is_lent_from_it() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.one.reserve(105).unwrap();
    pair.one.send(Head { stream: 3, tag: 9, ..REQUEST }, Body::Space(&mut space)).unwrap();
    // Segment 0 of 64 KiB.
    let segment_add = hex("
        01 00 00 00 00 00 00 00   06 00 08 00  00 00 00 00   00 00 00 00  00 00 00 00
        00 00 01 00 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    // OPEN, FIN and LENT; segment 0, lend number 0, offset 0, 105 bytes.
    let request = hex("
        02 00 00 00 00 00 00 00   01 07 18 00  03 00 00 00   09 00 00 00  00 00 00 00
        00 00 00 00  00 00 00 00   00 00 00 00 00 00 00 00   69 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    assert_eq!(entry(&pair, 0)[..64], segment_add);
    assert_eq!(entry(&pair, 1)[..64], request);
}

#[test]
fn reply_with_a_release() {
    let mut pair = Pair::new(Terms::default());
    let mut space = pair.other.reserve(105).unwrap();
    pair.other.send(REQUEST, Body::Space(&mut space)).unwrap();
    assert!(take(&mut pair.one).unwrap());
    pair.one.release();
    let head = Head { kind: MESSAGE, flags: FIN, stream: REQUEST.stream, tag: 0, time: 0 };
    pair.one.send(head, Body::Bytes(b"done")).unwrap();
    let expected = hex("
        01 00 00 00 00 00 00 00   01 02 04 00  0d 0c 0b 0a   00 00 00 00  01 00 00 00
        64 6f 6e 65 00 00 00 00   00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
        00 00 00 00 00 00 00 00   00 00 00 00 00 00 00 00
    ");
    assert_eq!(entry(&pair, 0)[..64], expected);
}

#[test]
fn release_in_an_entry_does_not_flip_its_bit() {
    let mut pair = Pair::new(Terms::default());
    for _ in 0..2 {
        let mut space = pair.other.reserve(105).unwrap();
        pair.other.send(REQUEST, Body::Space(&mut space)).unwrap();
        assert!(take(&mut pair.one).unwrap());
        pair.one.finish().unwrap();
    }
    // Of two releases one is published by its bit at once, the other in the next entry.
    pair.one.send(REQUEST, Body::Bytes(b"done")).unwrap();
    pair.one.flush().unwrap();
    assert_eq!(entry(&pair, 0)[20..22], [1, 0], "lend number 0");
    assert_eq!(pair.one_control.word(0x180), 0b10, "lend number 1");
}
