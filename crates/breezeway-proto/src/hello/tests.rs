use proptest::prelude::*;

use super::*;

#[test]
fn segment_cap_has_a_reserve_with_streams() {
    assert_eq!((segment_cap(16384, false), segment_cap(16384, true)), (16384, 20480));
    assert_eq!(segment_cap(5 * CAP_UNIT, true), 6 * CAP_UNIT);
    assert_eq!(segment_cap(u64::MAX / CAP_UNIT * CAP_UNIT, true), u64::MAX / CAP_UNIT * CAP_UNIT);
}

const HELLO: Hello = Hello {
    ring_capacity: 64,
    lend_count: 512,
    payload_cap: 1 << 26,
    memory: true,
    streams: StreamTerms { window: Window { messages: 7, bytes: 1 << 33 }, max_streams: 300 },
    service: 2,
    max_metadata: 65_535,
    go_away: true,
};

fn read(bytes: &[u8]) -> Result<Option<Greeting>, HelloError> {
    HelloReader::default().take(bytes)
}

#[test]
fn a_hello_reads_back_as_written_in_any_pieces() {
    let bytes = HELLO.encode();
    for piece in 1..=bytes.len() {
        let mut reader = HelloReader::default();
        let mut result = None;
        for chunk in bytes.chunks(piece) {
            assert!(result.is_none());
            assert!(chunk.len() <= reader.wanted());
            result = reader.take(chunk).unwrap();
        }
        assert_eq!(result, Some(Greeting::Welcome(HELLO)));
        assert_eq!(reader.wanted(), 0);
    }
}

#[test]
fn a_refusal_carries_its_reason_cut_at_a_character() {
    let reason = "ä".repeat(200);
    let bytes = encode_refusal(Refusal::Denied, &reason);
    let mut reader = HelloReader::default();
    assert_eq!(reader.take(&bytes[..FIXED_LEN]), Ok(None));
    assert_eq!(reader.wanted(), 256);
    let expected = Greeting::Refused { status: 2, reason: "ä".repeat(128) };
    assert_eq!(reader.take(&bytes[FIXED_LEN..]), Ok(Some(expected)));
}

#[test]
fn foreign_protocol_is_detected_by_first_wrong_byte() {
    for bytes in [&b"G"[..], b"BRZX", b"\0\0\0\x23\x77\x58\x02\x04", b"GET / HTTP/1.1\r\n"] {
        assert!(matches!(read(bytes), Err(HelloError::Magic(_))), "{bytes:?}");
    }
}

/// Returns a hello with bytes behind its fixed part.
fn extended(behind: &[u8]) -> Vec<u8> {
    let mut bytes = HELLO.encode();
    bytes.extend(behind);
    let len = bytes.len() as u16;
    put(&mut bytes, LENGTH_AT, &len.to_le_bytes());
    bytes
}

#[test]
fn unknown_features_and_fields_are_ignored() {
    let longest = [&[0xff, 0xff, 0xbc, 0x0f][..], &[0xee; LONGEST - FIXED_LEN - 4]].concat();
    for fields in [
        &[][..],
        &[0, 0, 0, 0],
        &[7, 0, 2, 0, 0xff, 0xff, 8, 0, 0, 0, 0xff, 0xff, 1, 0, 0],
        &longest,
    ] {
        let mut bytes = extended(fields);
        put(&mut bytes, FEATURES_AT, &u32::MAX.to_le_bytes());
        let mut reader = HelloReader::default();
        let (fixed, behind) = bytes.split_at(FIXED_LEN);
        let mut greeting = reader.take(fixed).unwrap();
        if !fields.is_empty() {
            assert_eq!((greeting, reader.wanted()), (None, fields.len()));
            greeting = reader.take(behind).unwrap();
        }
        assert_eq!(greeting, Some(Greeting::Welcome(HELLO)), "{fields:x?}");
    }
}

#[test]
fn fields_that_break_a_rule_are_refused_by_name() {
    let cases: [(&[u8], HelloError); 8] = [
        (&[0xee], HelloError::FieldHead(1)),
        (&[1, 0, 0], HelloError::FieldHead(3)),
        (&[1, 0, 0, 0, 2, 0], HelloError::FieldHead(2)),
        (&[1, 0, 1, 0], HelloError::FieldLength { kind: 1, length: 1, left: 0 }),
        (&[1, 0, 0xff, 0xff, 0], HelloError::FieldLength { kind: 1, length: u16::MAX, left: 1 }),
        (
            &[1, 0, 1, 0, 9, 2, 0, 4, 0, 1, 2, 3],
            HelloError::FieldLength { kind: 2, length: 4, left: 3 },
        ),
        (&[1, 0, 0, 0, 1, 0, 0, 0], HelloError::FieldOrder { kind: 1, before: 1 }),
        (&[0, 1, 0, 0, 255, 0, 0, 0], HelloError::FieldOrder { kind: 255, before: 256 }),
    ];
    for (fields, expected) in cases {
        assert_eq!(read(&extended(fields)), Err(expected), "{fields:x?}");
    }
}

#[test]
fn refusal_has_a_reason_and_no_fields() {
    let bytes = encode_refusal(Refusal::Busy, "x");
    let expected = Greeting::Refused { status: 3, reason: "x".to_owned() };
    assert_eq!(read(&bytes), Ok(Some(expected)));
}

#[test]
fn every_term_outside_its_range_is_refused() {
    let cases: [(usize, &[u8], HelloError); 14] = [
        (VERSION_AT, &1u16.to_le_bytes(), HelloError::Version(1)),
        (VERSION_AT, &3u16.to_le_bytes(), HelloError::Version(3)),
        (LENGTH_AT, &63u16.to_le_bytes(), HelloError::Length(63)),
        (LENGTH_AT, &4097u16.to_le_bytes(), HelloError::Length(4097)),
        (RING_CAPACITY_AT, &0u32.to_le_bytes(), HelloError::RingCapacity(0)),
        (RING_CAPACITY_AT, &4u32.to_le_bytes(), HelloError::RingCapacity(4)),
        (RING_CAPACITY_AT, &65u32.to_le_bytes(), HelloError::RingCapacity(65)),
        (RING_CAPACITY_AT, &131_072u32.to_le_bytes(), HelloError::RingCapacity(131_072)),
        (LEND_COUNT_AT, &0u32.to_le_bytes(), HelloError::LendCount(0)),
        (LEND_COUNT_AT, &100u32.to_le_bytes(), HelloError::LendCount(100)),
        (
            CONTROL_SIZE_AT,
            &4096u64.to_le_bytes(),
            HelloError::ControlSize { found: 4096, capacity: 64, expected: 12288 },
        ),
        (PAYLOAD_CAP_AT, &0u64.to_le_bytes(), HelloError::PayloadCap(0)),
        (PAYLOAD_CAP_AT, &4097u64.to_le_bytes(), HelloError::PayloadCap(4097)),
        (MAX_METADATA_AT, &65_536u32.to_le_bytes(), HelloError::MaxMetadata(65_536)),
    ];
    for (at, value, expected) in cases {
        let mut bytes = HELLO.encode();
        put(&mut bytes, at, value);
        assert_eq!(read(&bytes), Err(expected));
    }
}

#[test]
fn error_names_value_and_allowed_range() {
    for (error, expected) in [
        (HelloError::Length(63), "hello length 63 is not in 64..=4096"),
        (HelloError::RingCapacity(7), "ring capacity 7 is not a power of two in 8..=65536"),
        (HelloError::LendCount(100), "lend count 100 is not a multiple of 64 in 64..=1024"),
        (
            HelloError::ControlSize { found: 4096, capacity: 64, expected: 12288 },
            "control size 4096 is not 12288, as ring capacity 64 requires",
        ),
        (HelloError::PayloadCap(0), "payload cap 0 is not a non-zero multiple of 4096"),
        (HelloError::MaxMetadata(65_536), "metadata limit 65536 is past 65535"),
        (HelloError::FieldHead(3), "hello field with a head of 3 bytes where 4 are needed"),
        (
            HelloError::FieldLength { kind: 7, length: 9, left: 3 },
            "hello field of type 0x0007 has 9 bytes where 3 are left",
        ),
        (
            HelloError::FieldOrder { kind: 7, before: 0x8000 },
            "hello field of type 0x0007 lies behind one of type 0x8000: types ascend",
        ),
    ] {
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn refusal_reason_escapes_control_characters_only() {
    let bytes = encode_refusal(Refusal::Denied, "it's \"closed\"\x1b[2J");
    let mut reader = HelloReader::default();
    assert_eq!(reader.take(&bytes[..FIXED_LEN]), Ok(None));
    let reason = "it's \"closed\"\\u{1b}[2J".to_owned();
    let expected = Greeting::Refused { status: 2, reason };
    assert_eq!(reader.take(&bytes[FIXED_LEN..]), Ok(Some(expected)));
}

proptest! {
    #[test]
    fn hello_with_any_fields_is_read_or_refused_by_a_field_rule(
        fields in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..9)), 0..5),
        cut in 0usize..4,
    ) {
        let mut behind = Vec::new();
        for (kind, value) in &fields {
            behind.extend(kind.to_le_bytes());
            behind.extend((value.len() as u16).to_le_bytes());
            behind.extend(value);
        }
        let ascend = fields.is_sorted_by(|(one, _), (next, _)| one < next);
        let cut = cut.min(behind.len());
        behind.truncate(behind.len() - cut);
        let greeting = read(&extended(&behind));
        let is_expected = match greeting {
            Ok(Some(greeting)) => {
                (ascend || cut > 0) && greeting == Greeting::Welcome(HELLO)
            }
            Err(HelloError::FieldOrder { .. }) => !ascend,
            Err(HelloError::FieldHead(_) | HelloError::FieldLength { .. }) => cut > 0,
            _ => false,
        };
        prop_assert!(is_expected);
    }

    #[test]
    fn arbitrary_bytes_are_parsed_without_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        real in any::<bool>(),
    ) {
        if real {
            let known = bytes.len().min(8);
            bytes[..known].copy_from_slice(&MAGIC[..known]);
        }
        let mut reader = HelloReader::default();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let len = rest.len().min(reader.wanted());
            if len == 0 {
                break;
            }
            match reader.take(&rest[..len]) {
                Ok(None) => rest = &rest[len..],
                Ok(Some(_)) | Err(_) => break,
            }
        }
    }
}
