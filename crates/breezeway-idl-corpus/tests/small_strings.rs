//! Types whose strings have short text in place: they read, write and show what the others do.

use std::path::Path;

use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::messages::Messages;
use breezeway_thrift::{
    IntoOwned, SmallString, decode_once, decode_slice, encode_vec, to_vec, view_slice,
};

#[allow(dead_code, reason = "the test uses a part of it")]
mod small {
    include!(concat!(env!("OUT_DIR"), "/small.rs"));
}

#[allow(dead_code, reason = "the test uses a part of it")]
mod with_serde {
    include!(concat!(env!("OUT_DIR"), "/serde.rs"));
}

/// Reads a message and writes what it read.
type Way = fn(&[u8]) -> Vec<u8>;

/// One struct, and what is written of a message that was read each way.
struct Case {
    file: &'static str,
    name: &'static str,
    ways: [Way; 4],
}

macro_rules! case {
    ($file:literal, $name:literal, $owned:ty, $view:ty $(, every way)?) => {
        Case {
            file: $file,
            name: $name,
            ways: [
                |bytes| to_vec(&decode_slice::<$owned>(bytes).unwrap()).unwrap(),
                |bytes| to_vec(&decode_once::<$owned>(bytes).unwrap()).unwrap(),
                |bytes| {
                    let mut to = vec![0xee; 3];
                    encode_vec(&decode_slice::<$owned>(bytes).unwrap(), &mut to).unwrap();
                    to
                },
                |bytes| {
                    let value: $owned = view_slice::<$view>(bytes).unwrap().into_owned();
                    to_vec(&value).unwrap()
                },
            ],
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/small_cases.rs"));

/// Calls `check` with messages of every struct of these files.
fn each_message(mut check: impl FnMut(&'static Case, &[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../breezeway-idl/tests/corpus");
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
fn serde_shows_what_it_shows_of_other_strings() {
    let mut texts = 0;
    each_message(|case, message| {
        if (case.file, case.name) != ("sample", "Node") {
            return;
        }
        let node: small::sample::Node = decode_slice(message).unwrap();
        let plain: with_serde::sample::Node = decode_slice(message).unwrap();
        let shown = serde_json::to_string(&node).unwrap();
        assert_eq!(shown, serde_json::to_string(&plain).unwrap());
        texts += usize::from(!node.tags.0.is_empty() && !node.table.is_empty());
    });
    assert!(texts > 0, "no message has text, also as a key");
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
