//! Types with short text in place of strings, and binaries that may be parts of the message: they
//! read, write and show the same as the others.

use std::path::Path;

use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::messages::Messages;
use breezeway_thrift::{
    Bytes, Decode, DecodeError, Encode, IntoOwned, SmallString, decode_once, decode_shared,
    decode_slice, encode_vec, to_vec, view_slice,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[allow(dead_code, reason = "the test uses a part of it")]
mod small {
    include!(concat!(env!("OUT_DIR"), "/small.rs"));
}

#[allow(dead_code, reason = "the test uses a part of it")]
mod plain {
    include!(concat!(env!("OUT_DIR"), "/serde.rs"));
}

/// Reads a message and writes it again.
type Way = fn(&[u8]) -> Vec<u8>;

/// Returns a message as serde shows it.
type Shown = fn(&[u8]) -> Result<String, String>;

/// Returns the message that serde reads.
type Read = fn(&str) -> Result<Vec<u8>, String>;

/// Result of reading bytes that may not form a message.
type Outcome = Result<(), DecodeError>;

/// One struct.
struct Case {
    file: &'static str,
    name: &'static str,
    /// Writers of a message that was read each way.
    ways: [Way; 5],
    /// With `String` and `Vec<u8>`, then with small strings and shared bytes in every way.
    outcomes: fn(&[u8]) -> [Outcome; 4],
    /// With small strings and without.
    shown: [Shown; 2],
    /// With small strings and without.
    read: [Read; 2],
}

fn outcomes<P: Decode, S: Decode>(bytes: &[u8]) -> [Outcome; 4] {
    [
        decode_slice::<P>(bytes).map(drop),
        decode_slice::<S>(bytes).map(drop),
        decode_once::<S>(bytes).map(drop),
        decode_shared::<S>(&Bytes::copy_from_slice(bytes)).map(drop),
    ]
}

fn shown<T: Decode + Serialize>(message: &[u8]) -> Result<String, String> {
    let value: T = decode_slice(message).unwrap();
    serde_json::to_string(&value).map_err(|error| error.to_string())
}

fn read<T: Encode + DeserializeOwned>(shown: &str) -> Result<Vec<u8>, String> {
    let value: T = serde_json::from_str(shown).map_err(|error| error.to_string())?;
    to_vec(&value).map_err(|error| error.to_string())
}

macro_rules! case {
    ($file:literal, $name:literal, $($owned:ident)::+, $($view:ident)::+ $(, every way)?) => {
        Case {
            file: $file,
            name: $name,
            ways: [
                |bytes| to_vec(&decode_slice::<small::$($owned)::+>(bytes).unwrap()).unwrap(),
                |bytes| to_vec(&decode_once::<small::$($owned)::+>(bytes).unwrap()).unwrap(),
                |bytes| {
                    let message = Bytes::copy_from_slice(bytes);
                    to_vec(&decode_shared::<small::$($owned)::+>(&message).unwrap()).unwrap()
                },
                |bytes| {
                    let mut to = vec![0xee; 3];
                    encode_vec(&decode_slice::<small::$($owned)::+>(bytes).unwrap(), &mut to)
                        .unwrap();
                    to
                },
                |bytes| {
                    let view = view_slice::<small::$($view)::+>(bytes).unwrap();
                    let value: small::$($owned)::+ = view.into_owned();
                    to_vec(&value).unwrap()
                },
            ],
            outcomes: outcomes::<plain::$($owned)::+, small::$($owned)::+>,
            shown: [shown::<small::$($owned)::+>, shown::<plain::$($owned)::+>],
            read: [read::<small::$($owned)::+>, read::<plain::$($owned)::+>],
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/small_cases.rs"));

/// Calls `check` with messages of every struct of these files.
fn each_message(mut check: impl FnMut(&'static Case, &[u8])) {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/breezeway-idl/tests/corpus");
    for case in CASES {
        let file = corpus.join(case.file).with_extension("thrift");
        let schema = breezeway_idl::read(&[file], &[]).unwrap();
        let id = schema.find_struct(&format!("{}.{}", case.file, case.name)).unwrap();
        let mut messages = Messages { schema: &schema, dice: Dice(5), tame: false };
        if messages.exists(id) {
            (0..20).for_each(|_| check(case, &messages.message(id, 5)));
        }
    }
}

#[test]
fn messages_come_back_byte_for_byte_however_they_are_read() {
    let mut count = 0;
    each_message(|case, message| {
        for (way, through) in case.ways.iter().enumerate() {
            assert_eq!(through(message), message, "{} {} by way {way}", case.file, case.name);
        }
        count += 1;
    });
    assert!(count > 500, "{count}");
}

#[test]
fn cut_or_changed_bytes_fail_at_one_place_for_one_reason() {
    let mut dice = Dice(11);
    let mut refused = 0;
    each_message(|case, message| {
        let changed = |dice: &mut Dice| {
            let mut bytes = message.to_vec();
            bytes[dice.below(message.len())] = dice.roll() as u8;
            bytes
        };
        let cut = |dice: &mut Dice| message[..dice.below(message.len())].to_vec();
        for bytes in (0..10).flat_map(|_| [changed(&mut dice), cut(&mut dice)]) {
            let [plain, others @ ..] = (case.outcomes)(&bytes);
            for other in others {
                assert_eq!(other, plain, "{} {}: {bytes:02x?}", case.file, case.name);
            }
            refused += usize::from(plain.is_err());
        }
    });
    assert!(refused > 5000, "{refused}");
}

#[test]
fn serde_treats_small_strings_as_others() {
    let (mut same, mut unread, mut unshown) = (0, 0, 0);
    each_message(|case, message| {
        let place = format!("{} {}", case.file, case.name);
        let [small, plain] = case.shown.map(|shown| shown(message));
        assert_eq!(small, plain, "{place}");
        let Ok(shown) = plain else {
            unshown += 1;
            return;
        };
        let [small, plain] = case.read.map(|read| read(&shown));
        assert_eq!(small, plain, "{place}: {shown}");
        match plain {
            Ok(_) => same += 1,
            Err(_) => unread += 1,
        }
    });
    // JSON has neither NaN nor keys that are binaries.
    assert!(same > 400, "{same} shown and read, {unread} not read, {unshown} not shown");
}

#[test]
fn serde_shows_text_and_bytes_as_json_has_them() {
    let node = small::sample::Node {
        blob: Bytes::from_static(&[0, 0xff]),
        table: [("\"楼\"\n".into(), vec![1])].into(),
        tags: breezeway_thrift::Set(vec!["x".repeat(31).as_str().into()]),
        ..Default::default()
    };
    let shown = serde_json::to_value(&node).unwrap();
    assert_eq!(shown["blob"], serde_json::json!([0, 255]));
    assert_eq!(shown["table"], serde_json::json!({"\"楼\"\n": [1]}));
    assert_eq!(shown["tags"], serde_json::json!(["x".repeat(31)]));
    for blob in ["[256]", "[-1]", "7", "{}"] {
        let text = format!("{{\"blob\": {blob}}}");
        assert!(serde_json::from_str::<small::sample::Node>(&text).is_err(), "{text}");
    }
}

#[test]
fn serde_reads_short_and_long_text_again() {
    for text in ["", "\"楼\"\n", "x".repeat(30).leak(), "x".repeat(31).leak()] {
        let node = small::sample::Node {
            table: [(text.into(), vec![1])].into(),
            tags: breezeway_thrift::Set(vec![text.into(), "other".into()]),
            ..Default::default()
        };
        let shown = serde_json::to_string(&node).unwrap();
        assert_eq!(serde_json::from_str::<small::sample::Node>(&shown).unwrap(), node);
    }
    let bytes: &[&[u8]] = &[b"7", b"[]", b"null", b"\"\xff\""];
    for no_text in bytes {
        assert!(serde_json::from_slice::<SmallString>(no_text).is_err(), "{no_text:?}");
    }
}
