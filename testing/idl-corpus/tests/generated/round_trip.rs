//! Random messages of every struct of the corpus, and of random IDLs, through owned types and
//! views.

use std::path::Path;

use breezeway_idl::model::Schema;
use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::messages::Messages;
use breezeway_thrift::{
    DecodeError, Encode, EncodeError, IntoOwned, decode_once, decode_slice, to_vec, view_slice,
};

/// One struct: how it is decoded and encoded again, and how it is viewed.
pub(crate) struct Case {
    pub(crate) file: &'static str,
    pub(crate) name: &'static str,
    pub(crate) owned: fn(&[u8]) -> Result<Owned, DecodeError>,
    view: fn(&[u8]) -> Result<String, DecodeError>,
    more: Option<More>,
}

pub(crate) struct Owned {
    shown: String,
    pub(crate) encoded: Result<Vec<u8>, EncodeError>,
    size: usize,
}

/// The other ways through a message: read by `decode_once`, forwarded from its view, and made owned
/// of it.
struct More {
    once: fn(&[u8]) -> Result<String, DecodeError>,
    forwarded: fn(&[u8]) -> Result<Vec<u8>, EncodeError>,
    kept: fn(&[u8]) -> Result<Vec<u8>, EncodeError>,
}

macro_rules! case {
    ($file:literal, $name:literal, $owned:ty, $view:ty) => {
        case!(@ $file, $name, $owned, $view, None)
    };
    ($file:literal, $name:literal, $owned:ty, $view:ty, every way) => {
        case!(@ $file, $name, $owned, $view, Some(More {
            once: |bytes| decode_once::<$owned>(bytes).map(|value| format!("{value:?}")),
            forwarded: |bytes| to_vec(&view_slice::<$view>(bytes).unwrap()),
            kept: |bytes| {
                let value: $owned = view_slice::<$view>(bytes).unwrap().into_owned();
                to_vec(&value)
            },
        }))
    };
    (@ $file:literal, $name:literal, $owned:ty, $view:ty, $more:expr) => {
        Case {
            file: $file,
            name: $name,
            owned: |bytes| {
                let value: $owned = decode_slice(bytes)?;
                let encoded = to_vec(&value);
                Ok(Owned { shown: format!("{value:?}"), encoded, size: value.size() })
            },
            view: |bytes| view_slice::<$view>(bytes).map(|value| format!("{value:?}")),
            more: $more,
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

fn schema() -> Schema {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/breezeway-idl/tests/corpus");
    let mut files: Vec<_> =
        std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    let random = |seed| Path::new(env!("OUT_DIR")).join(format!("random_{seed}.thrift"));
    files.sort();
    files.extend((1..=3).map(random));
    breezeway_idl::read(&files, &[]).unwrap()
}

/// Calls `check` with messages of every struct.
pub(crate) fn each_message(
    seed: u64,
    count: usize,
    mut check: impl FnMut(&'static Case, &mut Dice, &[u8]),
) {
    let schema = schema();
    let mut messages = Messages { schema: &schema, dice: Dice(seed), tame: false };
    for case in CASES {
        let id = schema.find_struct(&format!("{}.{}", case.file, case.name)).unwrap();
        if !messages.exists(id) {
            continue;
        }
        for _ in 0..count {
            let message = messages.message(id, 6);
            check(case, &mut messages.dice, &message);
        }
    }
}

/// Returns a value without the names of types, in which owned types and views differ.
fn contents(shown: &str) -> String {
    let mut contents = String::new();
    let mut word = String::new();
    // The space ends the last word.
    for char in shown.chars().chain([' ']) {
        if char.is_alphanumeric() || char == '_' {
            word.push(char);
            continue;
        }
        if !word.starts_with(char::is_uppercase) {
            contents += &word;
        }
        word.clear();
        contents.push(char);
    }
    contents
}

#[test]
fn messages_come_back_byte_for_byte() {
    each_message(1, 40, |case, _, message| {
        let owned = (case.owned)(message).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(
            owned.encoded.as_deref(),
            Ok(message),
            "{}.{}: {}",
            case.file,
            case.name,
            owned.shown
        );
        assert_eq!(owned.size, message.len(), "{}.{}", case.file, case.name);
    });
}

#[test]
fn views_show_the_same_as_owned_values() {
    each_message(2, 40, |case, _, message| {
        let owned = (case.owned)(message).unwrap().shown;
        let view = (case.view)(message).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(contents(&owned), contents(&view), "{}.{}", case.file, case.name);
    });
}

#[test]
fn read_once_forwarded_or_kept_message_is_unchanged() {
    each_message(6, 20, |case, _, message| {
        let Some(more) = &case.more else { return };
        let owned = (case.owned)(message).unwrap().shown;
        assert_eq!((more.once)(message).as_ref(), Ok(&owned), "{}.{}", case.file, case.name);
        for written in [(more.forwarded)(message), (more.kept)(message)] {
            assert_eq!(written.as_deref(), Ok(message), "{}.{}", case.file, case.name);
        }
    });
}

#[test]
fn defaults_are_the_same_in_owned_values_and_views() {
    for case in CASES {
        match ((case.owned)(&[0]), (case.view)(&[0])) {
            (Ok(owned), Ok(view)) => assert_eq!(contents(&owned.shown), contents(&view)),
            (owned, view) => assert!(owned.is_err() && view.is_err(), "{}", case.name),
        }
    }
}

#[test]
fn unknown_fields_are_skipped() {
    // Field 32766, which no struct of the corpus has: a list of one struct with a bool.
    let unknown = [15, 0x7f, 0xfe, 12, 0, 0, 0, 1, 2, 0, 1, 1, 0];
    each_message(4, 10, |case, _, message| {
        let longer = [&unknown[..], message].concat();
        let owned = (case.owned)(&longer).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(owned.encoded.as_deref(), Ok(message), "{}.{}", case.file, case.name);
        let view = (case.view)(&longer).unwrap();
        assert_eq!(contents(&owned.shown), contents(&view), "{}.{}", case.file, case.name);
    });
}

#[test]
fn of_fields_that_come_twice_the_last_counts() {
    each_message(5, 10, |case, _, message| {
        let twice = [&message[..message.len() - 1], message].concat();
        let owned = (case.owned)(&twice).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(owned.encoded.as_deref(), Ok(message), "{}.{}", case.file, case.name);
        let view = (case.view)(&twice).unwrap();
        assert_eq!(contents(&owned.shown), contents(&view), "{}.{}", case.file, case.name);
    });
}

#[test]
fn damaged_message_is_accepted_by_both_or_neither() {
    each_message(3, 6, |case, dice, message| {
        for end in 0..message.len().min(100) {
            let cut = &message[..end];
            assert!((case.owned)(cut).is_err(), "{}: cut at {end}", case.name);
            assert!((case.view)(cut).is_err(), "{}: cut at {end}", case.name);
        }
        for _ in 0..20 {
            let mut changed = message.to_vec();
            let at = dice.below(changed.len());
            changed[at] ^= 1 << dice.below(8);
            let (owned, view) = ((case.owned)(&changed), (case.view)(&changed));
            if let Some(more) = &case.more {
                let once = (more.once)(&changed);
                assert_eq!(once.err().as_ref(), owned.as_ref().err(), "{}: {at}", case.name);
            }
            assert_eq!(owned.is_ok(), view.is_ok(), "{}: byte {at} of {message:02x?}", case.name);
        }
    });
}
