//! Random structs have the bytes that gopkg 0.2 (the codec of Kitex) and Apache Thrift 0.25 for Go
//! give them.
//!
//! `bench/thrift-peers/go` prints `fixtures/go.hex`; the values follow from the number of the line.

use std::collections::BTreeMap;

use crate::support::vectors::hex;
use breezeway_thrift::{
    Decode, DecodeError, Elements, Encode, Entries, Fields, NumberList, Set, SetOf, Sink, Slice,
    Source, View, Wire, WireType, decode_once, decode_slice, skip, to_vec, view_slice,
};

#[derive(Clone, Debug, Default, PartialEq)]
struct Item {
    text: String,
    number: Option<i32>,
}

impl Wire for Item {}

impl Encode for Item {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.field(1, &self.text);
        to.optional(2, &self.number);
        to.stop();
    }
}

impl Decode for Item {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        fields.read(1, &mut self.text)?;
        fields.read(2, &mut self.number)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.read_next(&mut self.text)?,
                2 => fields.read_next(&mut self.number)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ItemView<'a> {
    text: &'a str,
    number: Option<i32>,
}

impl Wire for ItemView<'_> {}

impl<'a> View<'a> for ItemView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut item = Self::default();
        let mut fields = Fields::begin(from)?;
        fields.view(1, &mut item.text)?;
        fields.view(2, &mut item.number)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.view_next(&mut item.text)?,
                2 => fields.view_next(&mut item.number)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(item)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Fixture {
    bool: bool,
    i8: i8,
    i16: i16,
    i32: i32,
    i64: i64,
    double: f64,
    text: String,
    binary: Vec<u8>,
    longs: Vec<i64>,
    ints: Set<i32>,
    map: BTreeMap<String, i64>,
    items: Vec<Item>,
    optional: Option<i32>,
    flags: Vec<bool>,
    texts: Vec<Vec<String>>,
    doubles: Vec<f64>,
    shorts: BTreeMap<i32, Vec<i16>>,
    negative: i16,
}

impl Wire for Fixture {}

impl Encode for Fixture {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.group((
            (1, self.bool),
            (2, self.i8),
            (3, self.i16),
            (4, self.i32),
            (5, self.i64),
            (6, self.double),
        ));
        to.field(7, &self.text);
        to.field(8, &self.binary);
        to.field(9, &self.longs);
        to.field(10, &self.ints);
        to.field(11, &self.map);
        to.field(12, &self.items);
        to.optional(13, &self.optional);
        to.field(14, &self.flags);
        to.field(15, &self.texts);
        to.field(16, &self.doubles);
        to.field(17, &self.shorts);
        to.put(-5, self.negative);
        to.stop();
    }
}

impl Decode for Fixture {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        fields.group((
            (1, &mut self.bool),
            (2, &mut self.i8),
            (3, &mut self.i16),
            (4, &mut self.i32),
            (5, &mut self.i64),
            (6, &mut self.double),
        ))?;
        fields.read(7, &mut self.text)?;
        fields.read(8, &mut self.binary)?;
        fields.read(9, &mut self.longs)?;
        fields.read(10, &mut self.ints)?;
        fields.read(11, &mut self.map)?;
        fields.read(12, &mut self.items)?;
        fields.read(13, &mut self.optional)?;
        fields.read(14, &mut self.flags)?;
        fields.read(15, &mut self.texts)?;
        fields.read(16, &mut self.doubles)?;
        fields.read(17, &mut self.shorts)?;
        fields.read(-5, &mut self.negative)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.read_next(&mut self.bool)?,
                2 => fields.read_next(&mut self.i8)?,
                3 => fields.read_next(&mut self.i16)?,
                4 => fields.read_next(&mut self.i32)?,
                5 => fields.read_next(&mut self.i64)?,
                6 => fields.read_next(&mut self.double)?,
                7 => fields.read_next(&mut self.text)?,
                8 => fields.read_next(&mut self.binary)?,
                9 => fields.read_next(&mut self.longs)?,
                10 => fields.read_next(&mut self.ints)?,
                11 => fields.read_next(&mut self.map)?,
                12 => fields.read_next(&mut self.items)?,
                13 => fields.read_next(&mut self.optional)?,
                14 => fields.read_next(&mut self.flags)?,
                15 => fields.read_next(&mut self.texts)?,
                16 => fields.read_next(&mut self.doubles)?,
                17 => fields.read_next(&mut self.shorts)?,
                -5 => fields.read_next(&mut self.negative)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(())
    }
}

/// The fields whose views differ from the owned types.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FixtureView<'a> {
    text: &'a str,
    longs: NumberList<'a, i64>,
    ints: SetOf<NumberList<'a, i32>>,
    map: Entries<'a, &'a str, i64>,
    items: Elements<'a, ItemView<'a>>,
    texts: Elements<'a, Elements<'a, &'a str>>,
    shorts: Entries<'a, i32, NumberList<'a, i16>>,
}

impl Wire for FixtureView<'_> {}

impl<'a> View<'a> for FixtureView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut fixture = Self::default();
        let mut fields = Fields::begin(from)?;
        fields.view(7, &mut fixture.text)?;
        fields.view(9, &mut fixture.longs)?;
        fields.view(10, &mut fixture.ints)?;
        fields.view(11, &mut fixture.map)?;
        fields.view(12, &mut fixture.items)?;
        fields.view(15, &mut fixture.texts)?;
        fields.view(17, &mut fixture.shorts)?;
        while let Some(id) = fields.next_id()? {
            match id {
                7 => fields.view_next(&mut fixture.text)?,
                9 => fields.view_next(&mut fixture.longs)?,
                10 => fields.view_next(&mut fixture.ints)?,
                11 => fields.view_next(&mut fixture.map)?,
                12 => fields.view_next(&mut fixture.items)?,
                15 => fields.view_next(&mut fixture.texts)?,
                17 => fields.view_next(&mut fixture.shorts)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(fixture)
    }
}

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'b', 'c', 'x', 'y', 'z', ' ', 'é', '方', '😀'];
        (0..self.below(30)).map(|_| letters[self.below(10) as usize]).collect()
    }

    /// Returns a list of fewer than `limit` values.
    fn list<T, L: FromIterator<T>>(&mut self, limit: u64, value: impl Fn(&mut Self) -> T) -> L {
        (0..self.below(limit)).map(|_| value(self)).collect()
    }

    fn item(&mut self) -> Item {
        let text = self.text();
        Item { text, number: (self.below(2) == 1).then(|| self.next() as i32) }
    }

    /// Returns the value of the line `seed`, made in the order of its fields.
    fn fixture(seed: u64) -> Fixture {
        let mut random = Self(seed);
        Fixture {
            bool: random.below(2) == 1,
            i8: random.next() as i8,
            i16: random.next() as i16,
            i32: random.next() as i32,
            i64: random.next() as i64,
            double: f64::from_bits(random.next()),
            text: random.text(),
            binary: random.list(40, |random| random.next() as u8),
            longs: random.list(40, |random| random.next() as i64),
            ints: random.list(20, |random| random.next() as i32),
            map: (0..random.below(4))
                .map(|index| (format!("key {index}"), random.next() as i64))
                .collect(),
            items: random.list(4, Self::item),
            optional: (random.below(2) == 1).then(|| random.next() as i32),
            flags: random.list(20, |random| random.below(2) == 1),
            texts: random.list(4, |random| random.list(4, Self::text)),
            doubles: random.list(20, |random| f64::from_bits(random.next())),
            shorts: (0..random.below(3))
                .map(|index| (index as i32, random.list(20, |random| random.next() as i16)))
                .collect(),
            negative: random.next() as i16,
        }
    }
}

fn fixtures() -> impl Iterator<Item = (Fixture, Vec<u8>)> {
    let lines = include_str!("fixtures/go.hex").lines().zip(0..);
    lines.map(|(line, seed)| (Random::fixture(seed), hex(line)))
}

#[test]
fn written_bytes_equal_those_of_go() {
    assert_eq!(fixtures().count(), 200);
    for (value, bytes) in fixtures() {
        assert_eq!(to_vec(&value).unwrap(), bytes);
        assert_eq!(value.size(), bytes.len());
    }
}

#[test]
fn bytes_written_by_go_are_read() {
    for (_, bytes) in fixtures() {
        let value: Fixture = decode_slice(&bytes).unwrap();
        assert_eq!(to_vec(&value).unwrap(), bytes);
        let value: Fixture = decode_once(&bytes[..]).unwrap();
        assert_eq!(to_vec(&value).unwrap(), bytes);
        let mut from = Slice::new(&bytes).unwrap();
        skip(WireType::Struct, &mut from).unwrap();
        assert_eq!(from.end(), Ok(()));
    }
}

#[test]
fn bytes_written_by_go_are_viewed() {
    for (value, bytes) in fixtures() {
        let view: FixtureView<'_> = view_slice(&bytes).unwrap();
        assert_eq!(view.text, value.text);
        assert_eq!(view.longs.to_vec(), value.longs);
        assert_eq!(view.ints.to_vec(), *value.ints);
        assert!(view.map.iter().eq(value.map.iter().map(|(key, value)| (key.as_str(), *value))));
        let items = value.items.iter();
        let items = items.map(|item| ItemView { text: &item.text, number: item.number });
        assert!(view.items.iter().eq(items));
        let texts = view.texts.iter().map(|texts| texts.iter().collect::<Vec<_>>());
        assert!(texts.eq(value.texts.iter().cloned()));
        let shorts = view.shorts.iter().map(|(key, list)| (key, list.to_vec()));
        assert!(shorts.eq(value.shorts.clone()));
    }
}
