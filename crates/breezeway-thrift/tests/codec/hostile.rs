//! Invalid messages are refused: without a panic, without much memory, with the place of the fault.

use crate::support::structs::*;
use crate::support::vectors::*;
use breezeway_idl_corpus::sample::{
    Color, Mixed, MixedView, MyTest, MyTestView, Node, NodeView, NotFound,
};
use breezeway_thrift::{
    ApplicationException, Decode, DecodeError, Fault, Frame, Limits, MessageHeader, ReadOnce,
    Slice, Source, TtFrame, WireType, decode_once, decode_slice, frame_size, skip, view_slice,
};

/// Reads an owned struct by all functions, which must agree, also on the place and fault. Returns
/// true if it could be read.
fn owned<T: Decode>(bytes: &[u8]) -> bool {
    let once = decode_once::<T>(bytes).map(drop);
    assert_eq!(decode_slice::<T>(bytes).map(drop), once, "{bytes:02x?}");
    #[cfg(feature = "shared-bytes")]
    {
        let message = breezeway_thrift::Bytes::copy_from_slice(bytes);
        let shared = breezeway_thrift::decode_shared::<T>(&message).map(drop);
        assert_eq!(shared, once, "{bytes:02x?}");
    }
    once.is_ok()
}

/// Reads like [`owned`], and as a view.
macro_rules! both {
    ($view:ident, $owned:ty) => {
        |bytes| {
            let viewed = view_slice::<$view<'_>>(bytes).map(drop);
            assert_eq!(viewed, decode_slice::<$owned>(bytes).map(drop), "{bytes:02x?}");
            owned::<$owned>(bytes)
        }
    };
}

fn skipped(bytes: &[u8]) -> bool {
    let mut from = Slice::new(bytes).unwrap();
    let in_slice = skip(WireType::Struct, &mut from).map(|()| from.offset());
    let mut from = ReadOnce::new(bytes, bytes.len()).unwrap();
    let once = skip(WireType::Struct, &mut from).map(|()| from.offset());
    assert_eq!(once.ok(), in_slice.as_ref().ok().copied());
    in_slice == Ok(bytes.len())
}

fn framed(bytes: &[u8]) -> bool {
    let frame = Frame::split(bytes, Limits::default());
    frame.is_ok_and(|frame| frame.is_some())
}

fn enveloped(bytes: &[u8]) -> bool {
    let frame = TtFrame::split(bytes, Limits::default());
    frame.is_ok_and(|frame| frame.is_some())
}

/// Reads a body, and returns true if it could.
type Reader = fn(&[u8]) -> bool;

const READERS: [Reader; 13] = [
    both!(EchoArgumentsView, EchoArguments),
    both!(AllTypesView, AllTypes),
    both!(NestingView, Nesting),
    both!(MyTestView, MyTest),
    both!(NodeView, Node),
    owned::<Empty>,
    owned::<Identified>,
    owned::<FailureResult>,
    owned::<NumberResult>,
    owned::<ApplicationException>,
    skipped,
    framed,
    enveloped,
];

/// Returns the offset of a message's body: behind its header, if it has one.
fn body(bytes: &[u8]) -> usize {
    let mut from = Slice::new(bytes).unwrap();
    let header = MessageHeader::view(&mut from);
    if header.is_ok() { from.offset() } else { 0 }
}

#[test]
fn every_vector_cut_at_every_byte_is_refused_or_read() {
    for bytes in ALL.map(hex) {
        let body = body(&bytes);
        for end in 0..bytes.len() {
            for reader in READERS {
                reader(&bytes[body.min(end)..end]);
            }
            let _ = MessageHeader::view(&mut Slice::new(&bytes[..end]).unwrap());
        }
    }
}

#[test]
fn every_vector_with_every_byte_changed_is_refused_or_read() {
    for mut bytes in ALL.map(hex) {
        let body = body(&bytes);
        let accepting = READERS.iter().filter(|reader| reader(&bytes[body..]));
        let accepting: Vec<Reader> = accepting.copied().collect();
        for index in 0..bytes.len() {
            let original = bytes[index];
            // Each type and small length, each bit, and the ends of signed and unsigned.
            let bits = (0..8).map(|bit| original ^ 1 << bit);
            for byte in (0..=16).chain(bits).chain([0x7f, 0x80, 0xff]) {
                bytes[index] = byte;
                for reader in &accepting {
                    reader(&bytes[body..]);
                }
                let _ = MessageHeader::view(&mut Slice::new(&bytes).unwrap());
            }
            bytes[index] = original;
        }
    }
}

#[test]
fn a_struct_cut_anywhere_is_truncated_or_miscounted() {
    let bytes = hex(V3);
    for end in 0..bytes.len() {
        let error = decode_slice::<AllTypes>(&bytes[..end]).unwrap_err();
        assert!(
            matches!(error.fault, Fault::Truncated(_) | Fault::Length { .. } | Fault::Count { .. }),
            "{end}: {error}"
        );
        assert!(error.offset <= end);
    }
}

fn fault<T: Decode + std::fmt::Debug>(digits: &str) -> (usize, Fault) {
    let error = decode_slice::<T>(&hex(digits)).unwrap_err();
    (error.offset, error.fault)
}

#[test]
fn negative_and_absurd_lengths_are_refused_where_they_stand() {
    // Field 9 of AllTypes is a list of i64, field 7 a string, field 11 a map.
    assert_eq!(fault::<AllTypes>("0f00090affffffff"), (4, Fault::NegativeLength(-1)));
    let absurd = Fault::Count { count: 0x7fff_ffff, left: 0 };
    assert_eq!(fault::<AllTypes>("0f00090a7fffffff"), (4, absurd));
    let absurd = Fault::Length { length: 0x7fff_ffff, left: 0 };
    assert_eq!(fault::<AllTypes>("0b00077fffffff"), (3, absurd));
    assert_eq!(fault::<AllTypes>("0b0007ffffffff"), (3, Fault::NegativeLength(-1)));
    let absurd = Fault::Count { count: 2, left: 15 };
    assert_eq!(fault::<AllTypes>("0d000b0b0800000002000000000000000000000000000000"), (5, absurd));
    assert_eq!(
        fault::<AllTypes>("0f00090a000000020000000000000001"),
        (4, Fault::Count { count: 2, left: 8 })
    );
}

#[test]
fn type_bytes_that_thrift_does_not_have_are_refused() {
    assert_eq!(fault::<Empty>("0500010000"), (0, Fault::UnknownType(5)));
    // In an unknown list, map and struct.
    assert_eq!(fault::<Empty>("0f00010500000001ff00"), (3, Fault::UnknownType(5)));
    assert_eq!(fault::<Empty>("0d0001030700000001ffff00"), (4, Fault::UnknownType(7)));
    assert_eq!(fault::<Empty>("0c00010900010000"), (3, Fault::UnknownType(9)));
}

#[test]
fn a_list_of_another_type_is_refused() {
    let fault = fault::<AllTypes>("0f000908000000010000000100");
    assert_eq!(fault, (3, Fault::ElementType { expected: WireType::I64, found: 8 }));
}

#[test]
fn an_empty_list_or_map_of_any_type_is_read() {
    for digits in
        ["0f0009000000000000", "0f0009080000000000", "0f00090f0000000000", "0d000b00000000000000"]
    {
        assert_eq!(decode_slice::<AllTypes>(&hex(digits)), Ok(AllTypes::default()));
        decode_slice::<Empty>(&hex(digits)).unwrap();
    }
}

#[test]
fn a_bool_is_0_or_1() {
    assert_eq!(fault::<AllTypes>("0200010200"), (3, Fault::Bool(2)));
    // In a list, and in a group of fields.
    assert_eq!(fault::<Nesting>("0f0002020000000301000200"), (10, Fault::Bool(2)));
    let mixed = "02000107080002000000000a0003000000000000000004000400000000000000000b0005000000000f00060a0000000000";
    assert_eq!(fault::<Mixed>(mixed), (3, Fault::Bool(7)));
    let bytes = hex(mixed);
    assert_eq!(view_slice::<MixedView<'_>>(&bytes).unwrap_err().fault, Fault::Bool(7));
}

#[test]
fn text_is_utf8() {
    assert_eq!(fault::<AllTypes>("0b000700000003c3a9ff00"), (9, Fault::Utf8));
    let bytes = hex("0b000700000003c3a9ff00");
    assert_eq!(view_slice::<AllTypesView<'_>>(&bytes).unwrap_err().offset, 9);
    assert_eq!(decode_once::<AllTypes>(&bytes[..]).unwrap_err().offset, 9);
}

#[test]
fn bytes_behind_the_end_are_refused() {
    assert_eq!(fault::<Empty>("0000"), (1, Fault::Trailing(1)));
}

#[test]
fn a_missing_required_field_is_named() {
    assert_eq!(fault::<NotFound>("00"), (1, Fault::Missing { id: 1, name: "message" }));
    assert_eq!(fault::<Node>("00"), (1, Fault::Missing { id: 1, name: "value" }));
}

#[test]
fn reordered_and_unknown_fields_decode_alike() {
    let in_order = decode_slice::<Echo>(&hex("0b0001000000026869080002fffffffe00")).unwrap();
    for digits in [
        "080002fffffffe0b000100000002686900",
        "0b0001000000026869080002fffffffe0f00640b000000010000000000",
        "0c00630a0001000000000000000100080002fffffffe0b000100000002686900",
        "0b000100000001610b0001000000026869080002fffffffe00",
        "0a000100000000000000000b0001000000026869080002fffffffe00",
        "080002fffffffe0a0002000000000000000a0b000100000002686900",
    ] {
        let bytes = hex(digits);
        assert_eq!(decode_slice::<Echo>(&bytes).as_ref(), Ok(&in_order), "{digits}");
        assert_eq!(view_slice::<EchoView<'_>>(&bytes), Ok(EchoView { text: "hi", number: -2 }));
    }
}

/// Returns a struct that holds a struct in field 2, and so on: `below` of them below the top, each
/// with the required field.
fn nested_nodes(below: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..below {
        bytes.extend(hex("0a000100000000000000010c0002"));
    }
    bytes.extend(hex("0a0001000000000000000100"));
    bytes.extend(vec![0; below]);
    bytes
}

#[test]
fn nesting_beyond_sixty_three_structs_is_refused() {
    let bytes = nested_nodes(63);
    decode_slice::<Node>(&bytes).unwrap();
    view_slice::<NodeView<'_>>(&bytes).unwrap();
    skip(WireType::Struct, &mut Slice::new(&bytes).unwrap()).unwrap();
    let bytes = nested_nodes(64);
    assert_eq!(decode_slice::<Node>(&bytes).unwrap_err().fault, Fault::Depth);
    assert_eq!(decode_once::<Node>(&bytes[..]).unwrap_err().fault, Fault::Depth);
    assert_eq!(view_slice::<NodeView<'_>>(&bytes).unwrap_err().fault, Fault::Depth);
    let skipped = skip(WireType::Struct, &mut Slice::new(&bytes).unwrap());
    assert_eq!(skipped.unwrap_err().fault, Fault::Depth);
}

#[test]
fn limits_can_be_set() {
    let bytes = nested_nodes(64);
    let limits = Limits { depth: 65, ..Limits::default() };
    Node::decode(&mut Slice::within(limits, &bytes).unwrap()).unwrap();
    let limits = Limits { size: 10, ..Limits::default() };
    let too_long = DecodeError { offset: 0, fault: Fault::Size { size: bytes.len(), limit: 10 } };
    assert_eq!(Slice::within(limits, &bytes).unwrap_err(), too_long);
    assert_eq!(frame_size(0x7fff_ffff_i32.to_be_bytes(), limits).unwrap_err().offset, 0);
    assert_eq!(frame_size([0xff; 4], limits).unwrap_err().fault, Fault::NegativeLength(-1));
}

#[test]
fn message_headers_are_strict() {
    let try_header = |digits: &str| {
        let bytes = hex(digits);
        let owned = MessageHeader::decode(&mut Slice::new(&bytes).unwrap()).map(drop);
        assert_eq!(MessageHeader::view(&mut Slice::new(&bytes).unwrap()).map(drop), owned);
        owned.map_err(|error| error.fault)
    };
    assert_eq!(try_header("800100050000000000000000"), Err(Fault::MessageKind(5)));
    assert_eq!(try_header("800100000000000000000000"), Err(Fault::MessageKind(0)));
    assert_eq!(try_header("8001ab010000000000000000"), Err(Fault::Version([0x80, 1, 0xab, 1])));
    assert_eq!(try_header("800200010000000000000000"), Err(Fault::Version([0x80, 2, 0, 1])));
    assert_eq!(try_header("8001000100000001ff00000000"), Err(Fault::Utf8));
}

#[test]
fn impossible_envelopes_are_refused_before_they_are_complete() {
    let split =
        |digits: &str| TtFrame::split(&hex(digits), Limits::default()).map(|frame| frame.is_some());
    let refused = |digits: &str, offset, fault| {
        assert_eq!(split(digits), Err(DecodeError { offset, fault }), "{digits}");
    };
    assert_eq!(split("00000033100000000000000100"), Ok(false));
    assert_eq!(split("0000003310000000000000010001"), Ok(false));
    refused("0000003310000000000000010000", 12, Fault::HeaderSize { info: 0, length: 0x33 });
    refused("0000000c10000000000000010001", 12, Fault::HeaderSize { info: 4, length: 12 });
    let limit = Limits::default().size;
    refused("ffffffff10000000000000010001", 0, Fault::Size { size: 0xffff_ffff, limit });
    // Complete ones that contradict themselves.
    refused("0000000e100000000000000100017f000000", 14, Fault::PayloadProtocol(0x7f));
    refused("0000000e1000000000000001000100010000", 15, Fault::Transforms(1));
    refused("0000000e1000000000000001000100000700", 16, Fault::HeaderBlock(7));
    refused(
        "000000121000000000000001000200000100010009610000",
        17,
        Fault::Count { count: 1, left: 3 },
    );
    refused(
        "00000012100000000000000100020000110009610000",
        17,
        Fault::Length { length: 9, left: 3 },
    );
}

#[test]
fn a_reader_that_ends_early_is_an_error() {
    let bytes = hex(V3);
    let error = decode_once::<AllTypes>((&bytes[..50], bytes.len())).unwrap_err();
    assert_eq!(error.fault, Fault::Read(std::io::ErrorKind::UnexpectedEof));
}

#[test]
fn unknown_values_of_an_enum_are_kept() {
    let bytes = hex("0b0001000000000800020000006300");
    assert_eq!(decode_slice::<NotFound>(&bytes).unwrap().color, Some(Color(99)));
}
