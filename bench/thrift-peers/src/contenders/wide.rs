//! The shapes of `idl/wide.thrift`: breezeway-thrift and pilota, which have code for them.

use std::hint::black_box;

use ::pilota::thrift::Message;
use breezeway_thrift::{Decode, Encode, View, decode_slice, to_vec, view_slice};

use super::{Case, Operation, breezeway, pilota};
use crate::generated::wide_pilota as theirs;
use crate::generated::{kitex, small_wide as small, wide};
use crate::shapes;

/// A shape with its codecs.
pub struct Shape {
    /// Name of the shape.
    pub name: &'static str,
    /// Size of a message in bytes.
    pub size: usize,
    /// Every codec with it.
    pub cases: Vec<Case>,
}

/// All of them.
pub fn all() -> Vec<Shape> {
    let events = shapes::events(130);
    let in_kitex_order: kitex::Events = decode_slice(&to_vec(&events).unwrap()).unwrap();
    let kitex = to_vec(&in_kitex_order).unwrap();
    let later = to_vec(&shapes::later(events.clone())).unwrap();
    vec![
        written::<_, small::Texts, _, _>(
            "1,000 texts of 2 to 20 Chinese characters",
            shapes::chinese(1000),
            TEXTS,
        ),
        written::<_, small::Texts, _, _>(
            "1,000 texts of 1 to 7 letters",
            shapes::short_texts(1000),
            TEXTS,
        ),
        written::<_, small::Profiles, _, _>(
            "200 structs, half of 12 optional fields",
            shapes::profiles(200),
            PROFILES,
        ),
        written::<_, small::Counts, _, _>("two maps of 300 entries", shapes::counts(300), COUNTS),
        written::<_, small::Events, _, _>("130 structs, names first", events, EVENTS),
        read("the same in Kitex's order: fixed sizes first", kitex, EVENTS),
        read("the same of a later version: 10 unknown fields each", later, EVENTS),
    ]
}

/// Readers of all fields: from a view, and from pilota's value.
struct Reading<V, P> {
    view: fn(V) -> u64,
    pilota: fn(&P) -> u64,
}

/// A shape that is also written, and read into an owned value: that of `S` has short text in place.
fn written<T, S, V, P>(name: &'static str, value: T, reading: Reading<V, P>) -> Shape
where
    T: Encode + Decode + 'static,
    S: Decode + 'static,
    V: View<'static> + 'static,
    P: Message + Clone + 'static,
{
    let mut cases = Vec::new();
    let bytes = breezeway::owned(value, &mut cases);
    breezeway::decoded_small::<S>(&bytes, &mut cases);
    add_reading(&bytes, &reading, &mut cases);
    let value = pilota::decode_safe::<P>(&bytes.clone().into());
    pilota::owned(value, reading.pilota, &mut cases);
    Shape { name, size: bytes.len(), cases }
}

/// Bytes that others have written.
fn read<V, P>(name: &'static str, bytes: Vec<u8>, reading: Reading<V, P>) -> Shape
where
    V: View<'static> + 'static,
    P: Message + 'static,
{
    let mut cases = Vec::new();
    breezeway::decoded::<wide::Events>(&bytes, &mut cases);
    add_reading(&bytes, &reading, &mut cases);
    pilota::decoded::<P>(&bytes.clone().into(), reading.pilota, &mut cases);
    Shape { name, size: bytes.len(), cases }
}

fn add_reading<V, P>(bytes: &[u8], reading: &Reading<V, P>, cases: &mut Vec<Case>)
where
    V: View<'static> + 'static,
    P: Message,
{
    let message: &'static [u8] = bytes.to_vec().leak();
    let view = reading.view;
    let theirs = pilota::decode_safe::<P>(&bytes.to_vec().into());
    assert_eq!(view(view_slice(message).unwrap()), (reading.pilota)(&theirs));
    cases.push(Case::new(breezeway::NAME, Operation::Read, move || {
        view(view_slice(black_box(message)).unwrap())
    }));
}

fn text(text: impl AsRef<str>) -> u64 {
    let text = text.as_ref();
    text.len() as u64 + u64::from(text.as_bytes().first().copied().unwrap_or(0))
}

fn all_of<T>(items: impl Iterator<Item = T>, of: impl Fn(T) -> u64) -> u64 {
    items.map(of).fold(0, u64::wrapping_add)
}

fn sum(numbers: impl Iterator<Item = i64>) -> u64 {
    numbers.fold(0, i64::wrapping_add) as u64
}

const TEXTS: Reading<wide::TextsView<'static>, theirs::Texts> = Reading {
    view: |it| all_of(it.texts.iter(), text),
    pilota: |it| all_of(it.texts.iter(), text),
};

/// The fields of a profile, which both call the same.
macro_rules! profile {
    ($profile:expr) => {{
        let it = $profile;
        let numbers = it.age.unwrap_or(0) as u64
            + it.level.unwrap_or(0) as u64
            + u64::from(it.active.unwrap_or(false))
            + it.score.unwrap_or(0.0) as u64;
        let numbers = numbers
            .wrapping_add(it.created.unwrap_or(0) as u64)
            .wrapping_add(it.manager.unwrap_or(0) as u64);
        let texts = [&it.name, &it.email, &it.city, &it.country, &it.note];
        let tags = it.tags.iter().map(|tags| all_of(tags.iter(), text)).sum::<u64>();
        numbers.wrapping_add(tags) + all_of(texts.into_iter().flatten(), text)
    }};
}

const PROFILES: Reading<wide::ProfilesView<'static>, theirs::Profiles> = Reading {
    view: |it| all_of(it.profiles.iter(), |it| profile!(it)),
    pilota: |it| all_of(it.profiles.iter(), |it| profile!(it)),
};

const COUNTS: Reading<wide::CountsView<'static>, theirs::Counts> = Reading {
    view: |it| {
        all_of(it.by_name.iter(), |(name, count)| text(name) + count as u64)
            + all_of(it.by_number.iter(), |(number, name)| number as u64 + text(name))
    },
    pilota: |it| {
        all_of(it.by_name.iter(), |(name, count)| text(name) + *count as u64)
            + all_of(it.by_number.iter(), |(number, name)| *number as u64 + text(name))
    },
};

const EVENTS: Reading<wide::EventsView<'static>, theirs::Events> = Reading {
    view: |it| {
        all_of(it.events.iter(), |it| {
            let numbers = sum(it.numbers.iter()).wrapping_add(u64::from(it.flag) + it.count as u64);
            numbers.wrapping_add(it.stamp as u64).wrapping_add(text(it.name))
        })
    },
    pilota: |it| {
        all_of(it.events.iter(), |it| {
            let numbers =
                sum(it.numbers.iter().copied()).wrapping_add(u64::from(it.flag) + it.count as u64);
            numbers.wrapping_add(it.stamp as u64).wrapping_add(text(&it.name))
        })
    },
};
