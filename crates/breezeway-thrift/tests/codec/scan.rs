//! The end of a message without a length, found while its bytes come.

use breezeway_thrift::{
    DecodeError, Fault, Limits, MessageHeader, MessageScan, Slice, WireType, skip,
};
use proptest::prelude::*;

use crate::support::vectors::*;

const LIMITS: Limits = Limits { depth: 64, size: 64 << 20, memory: 0 };

/// Returns the end of the message, found by reading all of it.
fn end_by_skipping(bytes: &[u8]) -> Result<usize, DecodeError> {
    let mut from = Slice::new(bytes)?;
    MessageHeader::<String>::decode(&mut from)?;
    skip(WireType::Struct, &mut from)?;
    Ok(bytes.len() - from.rest().len())
}

/// Returns the end of the message, found with the bytes arriving one at a time.
fn end_bytewise(bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
    let mut scan = MessageScan::new(LIMITS);
    for count in 0..bytes.len() {
        if let Some(end) = scan.end(&bytes[..count])? {
            return Ok(Some(end));
        }
    }
    scan.end(bytes)
}

#[test]
fn every_vector_ends_where_it_ends_and_not_before() {
    for vector in [V1, V5, V6, V7, V8, V9, V11, V12] {
        let mut bytes = hex(vector);
        let len = bytes.len();
        assert_eq!(end_bytewise(&bytes), Ok(Some(len)));
        assert_eq!(MessageScan::new(LIMITS).end(&bytes[..len - 1]), Ok(None));
        bytes.extend_from_slice(b"the next one");
        assert_eq!(MessageScan::new(LIMITS).end(&bytes), Ok(Some(len)));
    }
}

/// Returns a call of `ping` with these fields.
fn call(fields: &[u8]) -> Vec<u8> {
    [b"\x80\x01\x00\x01\0\0\0\x04ping\0\0\0\x01", fields, b"\0"].concat()
}

#[test]
fn invalid_byte_is_refused_as_soon_as_it_arrives() {
    let cases: [(&[u8], Fault); 4] = [
        (b"\x05\0\x01", Fault::UnknownType(5)),
        (b"\x0b\0\x01\xff\xff\xff\xff", Fault::NegativeLength(-1)),
        (b"\x0f\0\x01\x0b\x80\0\0\0", Fault::NegativeLength(i32::MIN)),
        (b"\x0f\0\x01\x05\0\0\0\x01", Fault::UnknownType(5)),
    ];
    for (fields, fault) in cases {
        assert_eq!(end_bytewise(&call(fields)).unwrap_err().fault, fault);
    }
    let fault = MessageScan::new(LIMITS).end(b"GET / HTTP").unwrap_err().fault;
    assert_eq!(fault, Fault::Version(*b"GET "));
}

#[test]
fn lengths_over_limit_are_refused_before_their_bytes() {
    let string = call(b"\x0b\0\x01\x7f\xff\xff\xff");
    let list = call(b"\x0f\0\x01\x0a\x7f\xff\xff\xff");
    for bytes in [string, list] {
        let error = MessageScan::new(LIMITS).end(&bytes).unwrap_err();
        assert!(matches!(error.fault, Fault::Size { limit: 67_108_864, .. }), "{error}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_refused() {
    let nested = |levels: usize| call(&[b"\x0c\0\x01".repeat(levels), vec![0; levels]].concat());
    assert_eq!(end_bytewise(&nested(63)), end_by_skipping(&nested(63)).map(Some));
    assert_eq!(end_bytewise(&nested(64)).unwrap_err().fault, Fault::Depth);
}

proptest! {
    /// The scan agrees with reading the whole message, except that it does not reject counts whose
    /// elements cannot follow.
    #[test]
    fn it_finds_the_end_that_reading_finds(fields in proptest::collection::vec(
        prop_oneof![
            Just(b"\x02\0\x01\x01".to_vec()),
            Just(b"\x0b\0\x02\0\0\0\x03abc".to_vec()),
            Just(b"\x0f\0\x03\x0b\0\0\0\x02\0\0\0\x01x\0\0\0\0".to_vec()),
            Just(b"\x0d\0\x04\x0b\x08\0\0\0\x01\0\0\0\x01k\0\0\0\x07".to_vec()),
            Just(b"\x0d\0\x05\x08\x0a\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\x01\0\0\0\0\0\0\0\x07".to_vec()),
            Just(b"\x0c\0\x06\x0c\0\x01\0\0".to_vec()),
            Just(b"\x0e\0\x07\x0c\0\0\0\x02\x03\0\x01\x09\0\0".to_vec()),
            Just(b"\x0f\0\x08\0\0\0\0\0".to_vec()),
            proptest::collection::vec(any::<u8>(), 1..6),
        ],
        0..8,
    )) {
        let bytes = call(&fields.concat());
        match (end_bytewise(&bytes), end_by_skipping(&bytes)) {
            (Ok(Some(end)), Ok(expected)) => prop_assert_eq!(end, expected),
            (Ok(None), Err(_)) | (Err(_), Err(_)) => {}
            (scanned, read) => prop_assert!(false, "{scanned:?} {read:?} {bytes:02x?}"),
        }
    }
}
