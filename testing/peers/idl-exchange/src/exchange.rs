//! Messages there and back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use breezeway_idl::model::{Schema, Shape};
use breezeway_idl_random::dice::Dice;
use breezeway_idl_random::messages::Messages;
use pilota::thrift::Message;
use pilota::thrift::binary::TBinaryProtocol;
use pilota::{Bytes, BytesMut};
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol, TSerializable};

use crate::wire::{self, Alike, Field};

/// One struct.
pub(crate) struct Case {
    pub(crate) stem: &'static str,
    pub(crate) name: &'static str,
    pub(crate) ours: Ours,
    pub(crate) others: &'static [Other],
}

/// Another implementation, which writes a message that it has read.
pub(crate) struct Other {
    pub(crate) name: &'static str,
    pub(crate) through: fn(&[u8]) -> Vec<u8>,
}

/// Our ways to read a message and write it again.
pub(crate) type Ours = [(&'static str, fn(&[u8]) -> Vec<u8>); 5];

/// All five ways, by these types.
macro_rules! ours {
    ($owned:ty, $view:ty) => {
        [
            ("owned", |bytes| to_vec(&decode_slice::<$owned>(bytes).unwrap()).unwrap()),
            ("once", |bytes| to_vec(&decode_once::<$owned>(bytes).unwrap()).unwrap()),
            ("into a vector", |bytes| {
                let mut to = vec![0xee; 3];
                encode_vec(&decode_slice::<$owned>(bytes).unwrap(), &mut to).unwrap();
                to
            }),
            ("view", |bytes| to_vec(&view_slice::<$view>(bytes).unwrap()).unwrap()),
            ("view made owned", |bytes| {
                let value: $owned = view_slice::<$view>(bytes).unwrap().into_owned();
                to_vec(&value).unwrap()
            }),
        ]
    };
}
pub(crate) use ours;

/// By pilota's types.
pub(crate) fn pilota<T: Message>(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::copy_from_slice(bytes);
    let value = T::decode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap();
    let mut written = BytesMut::new();
    value.encode(&mut TBinaryProtocol::new(&mut written, false)).unwrap();
    written.to_vec()
}

/// By the types of Apache's generator.
#[allow(dead_code, reason = "its compiler need not be there")]
pub(crate) fn apache<T: TSerializable>(bytes: &[u8]) -> Vec<u8> {
    let value = T::read_from_in_protocol(&mut TBinaryInputProtocol::new(bytes, true)).unwrap();
    let mut written = Vec::new();
    value.write_to_out_protocol(&mut TBinaryOutputProtocol::new(&mut written, true)).unwrap();
    written
}

/// Number of messages of each struct.
const MESSAGES: usize = 30;

/// Largest depth of a message; deeper values are empty where they can be.
const DEPTH: usize = 5;

/// Largest length of a message, unless it has no depth: nested structs of many fields take
/// megabytes, and show nothing that shorter ones do not.
const LONGEST: usize = 2048;

/// The messages of one IDL.
pub(crate) struct Exchange {
    schema: Schema,
    stem: &'static str,
    /// Number of messages.
    pub(crate) messages: u64,
}

impl Exchange {
    /// Returns the exchange of the IDL with this name in this folder.
    pub(crate) fn of(dir: &str, stem: &'static str) -> Self {
        let file = Path::new(dir).join(stem).with_extension("thrift");
        Self { schema: breezeway_idl::read(&[file], &[]).unwrap(), stem, messages: 0 }
    }

    /// The first message of a struct that is not the same to all, and how it is not.
    pub(crate) fn fault(&mut self, case: &Case) -> Option<String> {
        let id = self.schema.find_struct(&format!("{}.{}", self.stem, case.name)).unwrap();
        let mut messages = Messages { schema: &self.schema, dice: Dice(7), tame: false };
        if !messages.exists(id) {
            return None;
        }
        for _ in 0..MESSAGES {
            let mut depths = (1..=DEPTH).rev().map(|depth| messages.message(id, depth));
            let message = depths.find(|message| message.len() <= LONGEST);
            let message = message.unwrap_or_else(|| messages.message(id, 0));
            self.messages += 1;
            // Of a union with two fields, other implementations refuse the second, even an unknown
            // one.
            let is_union = self.schema.structure(id).is_none_or(|it| it.shape == Shape::Union);
            let found = differs(case, &message, is_union, &mut messages.dice);
            if let Some((how, wrong)) = found {
                let (name, message) = (case.name, hex(&message));
                return Some(format!("{name}: {how}: {message} became {wrong}"));
            }
        }
        None
    }
}

/// By which way a message becomes another one, and which.
fn differs(
    case: &Case,
    message: &[u8],
    is_union: bool,
    dice: &mut Dice,
) -> Option<(String, String)> {
    // Ours keeps every order.
    for (name, through) in case.ours {
        if let Some(wrong) = unlike(attempt(through, message), |bytes| bytes == message) {
            return Some((name.to_owned(), wrong));
        }
    }
    let fields = wire::parse(message);
    // pilota writes fields in the order that the IDL has them in; Apache's generator by numbers.
    let [containers, any_order] = [Alike::Containers, Alike::Fields]
        .map(|alike| (alike, wire::canonical(fields.clone(), alike)));
    let is_meant = |name: &str, bytes: &[u8]| {
        let (alike, meant) = if name == "pilota" { &any_order } else { &containers };
        wire::canonical(wire::parse(bytes), *alike) == *meant
    };
    let other_order = shuffled(fields.clone(), dice);
    let more = if is_union { fields } else { with_unknown(fields, dice) };
    for (what, changed) in [("in another order", other_order), ("with an unknown field", more)] {
        if let Some((how, wrong)) = by_all(case, &wire::write(&changed), is_meant) {
            return Some((format!("{how}, {what}"), wrong));
        }
    }
    if let Some(found) = by_all(case, message, is_meant) {
        return Some(found);
    }
    for other in case.others {
        let theirs = attempt(other.through, message).ok()?;
        // Views keep the bytes of what is nested, and so its order.
        let means_the_same = |_: &str, bytes: &[u8]| is_meant("pilota", bytes);
        if let Some((how, wrong)) = by_all(case, &theirs, means_the_same) {
            return Some((format!("{how}, of what {} wrote", other.name), wrong));
        }
    }
    None
}

/// Returns the first of all ways, ours and others', with a wrong result.
fn by_all(
    case: &Case,
    bytes: &[u8],
    is_meant: impl Fn(&str, &[u8]) -> bool,
) -> Option<(String, String)> {
    let others = case.others.iter().map(|other| (other.name, other.through));
    case.ours.into_iter().chain(others).find_map(|(name, through)| {
        Some((name.to_owned(), unlike(attempt(through, bytes), |bytes| is_meant(name, bytes))?))
    })
}

/// Returns the written message if it differs from the intended one.
fn unlike(written: Result<Vec<u8>, String>, is_meant: impl Fn(&[u8]) -> bool) -> Option<String> {
    match written {
        Ok(bytes) if is_meant(&bytes) => None,
        Ok(bytes) => Some(hex(&bytes)),
        Err(panic) => Some(panic),
    }
}

/// Returns the result of a way, or its panic.
fn attempt(through: fn(&[u8]) -> Vec<u8>, bytes: &[u8]) -> Result<Vec<u8>, String> {
    catch_unwind(AssertUnwindSafe(|| through(bytes))).map_err(|panic| {
        match panic.downcast::<String>() {
            Ok(text) => format!("a panic: {text}"),
            Err(_) => "a panic".to_owned(),
        }
    })
}

fn shuffled(mut fields: Vec<Field>, dice: &mut Dice) -> Vec<Field> {
    for index in (1..fields.len()).rev() {
        fields.swap(index, dice.below(index + 1));
    }
    fields
}

fn with_unknown(mut fields: Vec<Field>, dice: &mut Dice) -> Vec<Field> {
    fields.insert(dice.below(fields.len() + 1), wire::unknown());
    fields
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
