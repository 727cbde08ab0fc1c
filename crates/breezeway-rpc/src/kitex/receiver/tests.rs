//! Any bytes in any pieces: the same messages come out, or the same error.

use proptest::prelude::*;

use super::*;
use crate::kitex::message::write_value;
use crate::thrift::MessageKind;

const LIMITS: Limits = Limits { depth: 8, size: 4096, memory: 1 << 16 };

const FRAMINGS: [Framing; 4] = [
    Framing::Unframed,
    Framing::Framed,
    Framing::TtHeader { is_framed: true },
    Framing::TtHeader { is_framed: false },
];

/// Starts of messages.
const STARTS: [&[u8]; 4] = [b"", b"\x80\x01\0\x01", b"\0\0\0\x20\x80\x01", b"\0\0\0\x20\x10\0\0\0"];

/// Returns a message with these texts in its header, if it has one.
fn message(framing: Framing, sequence: i32, texts: &[String]) -> Vec<u8> {
    let head = MessageHeader { kind: MessageKind::Call, name: "echo", sequence };
    let texts = texts.iter().map(|text| (text.clone().into_bytes(), Vec::new())).collect();
    let header = TtHeader { sequence, texts, ..TtHeader::default() };
    let exception = crate::thrift::ApplicationException {
        kind: crate::thrift::ExceptionKind::UNKNOWN,
        message: "x".repeat(sequence as usize),
    };
    write_value(framing, &header, &head, &exception).unwrap()
}

/// Returns the received messages' parts, and the error at the end.
fn received<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> (Vec<String>, Option<String>) {
    let mut receiver = Receiver::new(LIMITS);
    let mut messages = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let room = receiver.room();
            let count = piece.len().min(room.len());
            room[..count].copy_from_slice(&piece[..count]);
            receiver.take(count);
            piece = &piece[count..];
            loop {
                match receiver.next() {
                    Ok(Some(message)) => messages.push(format!("{message:?}")),
                    Ok(None) => break,
                    Err(error) => return (messages, Some(error.to_string())),
                }
            }
        }
    }
    (messages, None)
}

/// Returns `bytes`, cut before each of these places.
fn cut(bytes: &[u8], at: &[prop::sample::Index]) -> Vec<Vec<u8>> {
    let mut places: Vec<_> = at.iter().map(|at| at.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
}

fn messages() -> impl Strategy<Value = Vec<u8>> {
    let text = prop::collection::vec("[a-z]{0,9}", 0..4);
    let one = (prop::sample::select(&FRAMINGS[..]), 0..300, text);
    prop::collection::vec(one, 0..6).prop_map(|all| {
        all.iter()
            .flat_map(|(framing, sequence, texts)| message(*framing, *sequence, texts))
            .collect()
    })
}

proptest! {
    #[test]
    fn pieces_make_no_difference_to_messages(
        bytes in messages(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        at in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut bytes = bytes;
        for (place, byte) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        let pieces = cut(&bytes, &at);
        let whole = received([&bytes[..]]);
        prop_assert_eq!(received(pieces.iter().map(Vec::as_slice)), whole.clone());
        prop_assert_eq!(received(bytes.chunks(1)), whole);
    }

    #[test]
    fn noise_ends_in_an_error_or_waits(
        start in prop::sample::select(&STARTS[..]),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let bytes = [start, &noise].concat();
        prop_assert_eq!(received(bytes.chunks(1)), received([&bytes[..]]));
    }
}

#[test]
fn every_framing_gives_its_messages() {
    let all: Vec<u8> = FRAMINGS.iter().flat_map(|framing| message(*framing, 7, &[])).collect();
    let (messages, error) = received([&all[..]]);
    assert_eq!((messages.len(), error), (4, None));
}

#[test]
fn bytes_that_were_announced_and_not_sent_take_no_memory() {
    let mut receiver = Receiver::new(Limits::default());
    let starts: [&[u8]; 3] = [
        b"\x03\xff\xff\xff\x10\0\0\0\0\0\0\x01\0\x01\0\0\0\0",
        b"\x03\xff\xff\xff\x80\x01\0\x01\0\0\0\x04ping",
        b"\x80\x01\0\x01\0\0\0\x04ping\0\0\0\x01\x0b\0\x01\x03\xff\0\0",
    ];
    for start in starts {
        receiver.room()[..start.len()].copy_from_slice(start);
        receiver.take(start.len());
        assert!(receiver.next().unwrap().is_none());
        receiver.room();
        assert!(receiver.bytes.capacity() <= 2 * PIECE, "{}", receiver.bytes.capacity());
        receiver = Receiver::new(Limits::default());
    }
}

#[test]
fn memory_of_a_long_message_goes_with_it() {
    let mut receiver = Receiver::new(Limits::default());
    let header = TtHeader::default();
    let head = MessageHeader { kind: MessageKind::Call, name: "echo", sequence: 1 };
    let exception = crate::thrift::ApplicationException {
        kind: crate::thrift::ExceptionKind::UNKNOWN,
        message: "x".repeat(3 << 20),
    };
    for framing in FRAMINGS {
        let bytes = write_value(framing, &header, &head, &exception).unwrap();
        for piece in bytes.chunks(PIECE) {
            receiver.room()[..piece.len()].copy_from_slice(piece);
            receiver.take(piece.len());
        }
        assert_eq!(receiver.next().unwrap().unwrap().bytes, bytes);
        assert_eq!((receiver.is_empty(), receiver.bytes.capacity()), (true, 0));
    }
}

#[test]
fn a_message_that_is_given_moves_none_that_wait() {
    let mut receiver = Receiver::new(LIMITS);
    let two = message(Framing::Framed, 1, &[]).repeat(2);
    receiver.room()[..two.len()].copy_from_slice(&two);
    receiver.take(two.len());
    receiver.next().unwrap().unwrap();
    assert_eq!(receiver.bytes[..two.len()], two, "quadratic work otherwise");
    receiver.next().unwrap().unwrap();
    assert!(receiver.is_empty());
}

#[test]
fn ttheader_frame_of_wrong_length_is_refused() {
    let good = message(Framing::TtHeader { is_framed: true }, 1, &[]);
    let at = good.windows(2).position(|two| two == [0x80, 0x01]).unwrap() - 1;
    for length in [good[at] - 1, good[at] + 1] {
        let mut bytes = good.clone();
        bytes[at] = length;
        let (messages, error) = received([&bytes[..]]);
        assert_eq!(messages.len(), 0);
        assert!(error.unwrap().contains("the frame inside TTHeader"));
    }
}

#[test]
fn kitex_protobuf_is_refused_by_its_name_framed_and_in_ttheader() {
    // As Kitex's codec has it: length, magic and type, method, sequence, the Protobuf message.
    let framed = b"\0\0\0\x12\x90\x01\0\x01\0\0\0\x04echo\0\0\0\x01\x08\x01";
    let header = TtHeader { sequence: 1, ..TtHeader::default() };
    let mut wrapped = vec![0; header.size()];
    let mut output = thrift::Output::new(&mut wrapped);
    header.encode(framed.len(), &mut output);
    output.finish().unwrap();
    wrapped.extend(framed);
    for bytes in [&framed[..], &wrapped] {
        let (messages, error) = received([bytes]);
        assert_eq!((messages.len(), &*error.unwrap()), (0, "KitexProtobuf is not served here"));
    }
}

#[test]
fn an_alert_refuses_a_connection_only_before_anything_came() {
    let alert = |name: &str| {
        let alert = breezeway::TlsError::Alert(name.to_owned());
        std::io::Error::new(std::io::ErrorKind::InvalidData, alert)
    };
    let mut receiver = Receiver::new(LIMITS);
    assert!(!receiver.failure(alert("certificate_required")).may_have_run());
    assert!(receiver.failure(alert("internal_error")).may_have_run());
    receiver.room()[0] = 0;
    receiver.take(1);
    let error = receiver.failure(alert("certificate_required"));
    assert!(
        error.may_have_run() && breezeway::describe(&error).contains("certificate_required"),
        "{error}"
    );
}
