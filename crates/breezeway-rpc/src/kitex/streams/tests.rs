//! Meaning of frames, and forbidden contents: the rules, without a socket.

use proptest::prelude::*;

use super::*;
use crate::business::BusinessError;
use crate::kitex::Receiver;
use crate::kitex::frame::Writer;
use crate::stream::Ended;
use crate::thrift::{ExceptionKind, Limits};

fn receiver(bytes: &[u8]) -> Receiver {
    let mut receiver = Receiver::new(Limits::default());
    receiver.room()[..bytes.len()].copy_from_slice(bytes);
    receiver.take(bytes.len());
    receiver
}

/// Returns the server's events for these bytes.
fn came(streams: &mut Streams, bytes: &[u8]) -> Result<Vec<String>, WireError> {
    let mut receiver = receiver(bytes);
    let mut all = Vec::new();
    while let Some(frame) = receiver.next_frame()? {
        all.push(match streams.take(frame)? {
            Came::Opened(opening) => format!("{} opens {}", opening.stream, opening.method),
            Came::Refused(opening, words) => format!("{}: {words}", opening.stream),
            Came::Message(stream, message) => format!("{stream} says {}", message.len()),
            Came::End(stream) => format!("{stream} ends"),
            Came::Reset(stream) => format!("{stream} is cancelled"),
            Came::Nothing => "nothing".to_owned(),
        });
    }
    Ok(all)
}

fn frames(stream: i32, write: impl FnOnce(&Writer, &mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&Writer::new(stream, "talk".to_owned()), &mut bytes);
    bytes
}

fn opened(stream: i32) -> Vec<u8> {
    frames(stream, |writer, to| writer.opening(Vec::new(), None, to).unwrap())
}

fn data(stream: i32) -> Vec<u8> {
    frames(stream, |writer, to| writer.data(b"\0", to).unwrap())
}

fn end(stream: i32) -> Vec<u8> {
    frames(stream, |writer, to| writer.end(to).unwrap())
}

fn reset(stream: i32) -> Vec<u8> {
    Writer::new(stream, "talk".to_owned()).reset(ExceptionKind(12007), "no more").unwrap()
}

#[test]
fn frames_of_several_streams_lie_between_each_other() {
    let all = [opened(5), opened(-7), data(5), data(-7), end(5), data(-7), end(-7)].concat();
    let expected = [
        "5 opens talk",
        "-7 opens talk",
        "5 says 1",
        "-7 says 1",
        "5 ends",
        "-7 says 1",
        "-7 ends",
    ];
    assert_eq!(came(&mut Streams::new(9), &all).unwrap(), expected);
}

#[test]
fn frames_of_ended_stream_are_ignored() {
    let mut streams = Streams::new(9);
    came(&mut streams, &opened(1)).unwrap();
    assert_eq!(came(&mut streams, &reset(1)).unwrap(), ["1 is cancelled"]);
    let late = [data(1), end(1), reset(1), data(2)].concat();
    assert_eq!(came(&mut streams, &late).unwrap(), ["nothing"; 4]);
    streams.close(1);
    came(&mut streams, &opened(1)).unwrap();
    streams.close(1);
    assert_eq!(came(&mut streams, &data(1)).unwrap(), ["nothing"]);
}

#[test]
fn cancelled_stream_number_is_taken_until_handler_ends() {
    for last in [&[reset(1)][..], &[end(1), reset(1)]] {
        let mut streams = Streams::new(9);
        came(&mut streams, &[opened(1), last.concat()].concat()).unwrap();
        assert!(matches!(came(&mut streams, &opened(1)), Err(WireError::Reopened(1))));
        streams.close(1);
        assert_eq!(came(&mut streams, &opened(1)).unwrap(), ["1 opens talk"]);
    }
}

#[test]
fn cancelled_streams_count_until_handlers_end() {
    let mut streams = Streams::new(128);
    let mut served = 0;
    for first in (0..10_000).step_by(100) {
        let hundred = first..first + 100;
        let bytes: Vec<_> = hundred.flat_map(|one| [opened(one), reset(one)].concat()).collect();
        let all = came(&mut streams, &bytes).unwrap();
        served += all.iter().filter(|came| came.ends_with("opens talk")).count();
    }
    assert_eq!(served, 128);
    streams.close(7);
    let all = [opened(20_000), opened(20_001)].concat();
    let expected = ["20000 opens talk", "20001: the connection has too many streams"];
    assert_eq!(came(&mut streams, &all).unwrap(), expected);
}

#[test]
fn metadata_that_takes_too_much_refuses_its_stream_and_no_other() {
    let opened_with = |stream, pairs: usize, len| {
        let texts = (0..pairs).map(|_| (Vec::new(), vec![b'x'; len])).collect();
        frames(stream, |writer, to| writer.opening(texts, None, to).unwrap())
    };
    // A frame's kind and its method are two further pairs, and five bytes.
    let (pair, rest) = (128, 2 * 128 + 5);
    let fits = (64 << 10) - rest;
    let mut streams = Streams::new(2);
    for (pairs, len) in [(1, fits - pair), (fits / pair, 0)] {
        assert_eq!(came(&mut streams, &opened_with(1, pairs, len)).unwrap(), ["1 opens talk"]);
        streams.close(1);
    }
    for (pairs, len) in [(1, fits - pair + 1), (fits / pair + 1, 0), (15_000, 0)] {
        let all = [opened_with(1, pairs, len), data(1), opened(2)].concat();
        let words = "1: the stream's metadata takes more than 64 KiB";
        assert_eq!(came(&mut streams, &all).unwrap(), [words, "nothing", "2 opens talk"]);
        streams.close(2);
    }
}

#[test]
fn a_stream_that_is_opened_twice_ends_the_connection() {
    let all = [opened(1), opened(1)].concat();
    assert!(matches!(came(&mut Streams::new(9), &all), Err(WireError::Reopened(1))));
}

#[test]
fn a_stream_that_goes_on_behind_its_end_ends_the_connection() {
    for behind in [data(1), end(1)] {
        let all = [opened(1), end(1), behind].concat();
        assert!(matches!(came(&mut Streams::new(9), &all), Err(WireError::BehindTheEnd(1))));
    }
}

#[test]
fn a_client_may_cancel_behind_its_last_message() {
    let all = [opened(1), end(1), reset(1)].concat();
    let expected = ["1 opens talk", "1 ends", "1 is cancelled"];
    assert_eq!(came(&mut Streams::new(9), &all).unwrap(), expected);
}

#[test]
fn a_stream_too_many_is_refused_and_others_go_on() {
    let all = [opened(1), opened(2), opened(3), data(1), data(3)].concat();
    let expected = [
        "1 opens talk",
        "2 opens talk",
        "3: the connection has too many streams",
        "1 says 1",
        "nothing",
    ];
    assert_eq!(came(&mut Streams::new(2), &all).unwrap(), expected);
}

#[test]
fn frames_that_break_a_rule_are_refused() {
    let good = opened(1);
    let edits: [(usize, u8, &str); 4] = [
        (7, 0, "not those of a stream"),
        (14, 0x11, "streams carry Thrift structs"),
        (14, 0x7f, "is not a payload protocol"),
        // The only digit of the kind.
        (23, b'9', "is not a kind of frame"),
    ];
    for (at, byte, words) in edits {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let error = came(&mut Streams::new(9), &bytes).unwrap_err().to_string();
        assert!(error.contains(words), "{at}: {error}");
    }
}

/// Returns the client's events for these bytes.
fn answered(bytes: &[u8]) -> Result<Vec<Option<usize>>, Error> {
    let mut receiver = receiver(bytes);
    let mut stream = ClientStream::new(1, None);
    let mut all = Vec::new();
    while let Some(frame) = receiver.next_frame().map_err(Error::wire)? {
        match stream.take(frame)? {
            Some(Received::Message(body)) => all.push(Some(body.bytes().len())),
            Some(Received::End) => all.push(None),
            Some(Received::Thrown(_)) => panic!("Kitex has no such thing"),
            None => {}
        }
    }
    Ok(all)
}

#[test]
fn a_client_gets_messages_and_the_end() {
    let last = Writer::new(1, "talk".to_owned()).last(true, Ended::Well(None), Vec::new());
    let header = frames(1, |writer, to| writer.header(Vec::new(), to).unwrap());
    let all = [header, data(1), data(2), last].concat();
    assert_eq!(answered(&all).unwrap(), [Some(1), None]);
}

#[test]
fn a_client_gets_why_the_method_failed() {
    let writer = Writer::new(1, "talk".to_owned());
    let failed = Ended::Failed(Error::new(ExceptionKind(77), "no such coupon"));
    let Err(Error::Application(error)) = answered(&writer.last(false, failed, Vec::new())) else {
        panic!()
    };
    assert_eq!((error.kind, &*error.message), (ExceptionKind(77), "no such coupon"));
    let refused = Ended::Failed(BusinessError::new(410, "too late").into());
    let Err(Error::Business(error)) = answered(&writer.last(false, refused, Vec::new())) else {
        panic!()
    };
    assert_eq!((error.status, &*error.message), (410, "too late"));
    let Err(Error::Application(error)) = answered(&reset(1)) else { panic!() };
    assert_eq!(error.kind, ExceptionKind(12007));
}

#[test]
fn a_server_that_begins_twice_is_refused() {
    let header = frames(1, |writer, to| writer.header(Vec::new(), to).unwrap());
    assert!(matches!(answered(&header.repeat(2)), Err(Error::Protocol(_))));
}

#[test]
fn oversized_metadata_fails_its_stream_only() {
    let long = vec![(b"name".to_vec(), vec![b'x'; 70_000])];
    let last = Writer::new(1, "talk".to_owned()).last(false, Ended::Well(None), long);
    let Err(Error::Application(error)) = answered(&last) else { panic!() };
    assert_eq!(error.kind, ExceptionKind::INTERNAL_ERROR);
}

proptest! {
    #[test]
    fn pieces_make_no_difference_to_frames(
        order in prop::collection::vec((0..4u8, 1..4i32), 0..12),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        size in 1..40usize,
    ) {
        let mut bytes: Vec<u8> = order
            .into_iter()
            .flat_map(|(kind, stream)| [opened, data, end, reset][kind as usize](stream))
            .collect();
        for (place, byte) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        let frames = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut receiver = Receiver::new(Limits::default());
            let (mut all, mut streams) = (Vec::new(), Streams::new(2));
            for piece in pieces {
                receiver.room()[..piece.len()].copy_from_slice(piece);
                receiver.take(piece.len());
                loop {
                    match receiver.next_frame() {
                        Ok(Some(frame)) => all.push(format!("{:?}", streams.take(frame))),
                        Ok(None) => break,
                        Err(error) => {
                            all.push(error.to_string());
                            return all;
                        }
                    }
                }
            }
            all
        };
        let whole = frames(&mut std::iter::once(&bytes[..]));
        prop_assert_eq!(frames(&mut bytes.chunks(size)), whole);
    }
}
