//! Thrift Binary as a tree of values: to compare messages whose sets and maps have another order,
//! and to change the order of fields.

/// A value as it was on the wire.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    /// A value of fixed size, or a string without its length.
    Plain(Vec<u8>),
    Double(u64),
    Struct(Vec<Field>),
    List(u8, Vec<Value>),
    Set(u8, Vec<Value>),
    Map([u8; 2], Vec<(Value, Value)>),
}

/// A field with its type and number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Field {
    kind: u8,
    pub(crate) id: i16,
    value: Value,
}

const STOP: u8 = 0;
const DOUBLE: u8 = 4;
const STRING: u8 = 11;
const STRUCT: u8 = 12;
const MAP: u8 = 13;
const SET: u8 = 14;
const LIST: u8 = 15;

/// The struct that is all of `bytes`.
pub(crate) fn parse(bytes: &[u8]) -> Vec<Field> {
    let mut rest = bytes;
    let fields = fields(&mut rest);
    assert!(rest.is_empty(), "{} bytes are left", rest.len());
    fields
}

/// The bytes of a struct.
pub(crate) fn write(fields: &[Field]) -> Vec<u8> {
    let mut to = Vec::new();
    put_fields(fields, &mut to);
    to
}

/// Differences that do not matter, and are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// The order of sets and maps, with the last of repeated keys; NaN and zeros in keys.
    Containers,
    /// The order of fields too.
    Fields,
}

/// Returns one form of all messages with the same meaning.
pub(crate) fn canonical(fields: Vec<Field>, alike: Alike) -> Vec<Field> {
    structure(fields, alike, false)
}

fn structure(fields: Vec<Field>, alike: Alike, is_key: bool) -> Vec<Field> {
    let ordered = |field: Field| Field { value: ordered(field.value, alike, is_key), ..field };
    let mut fields: Vec<_> = fields.into_iter().map(ordered).collect();
    if alike == Alike::Fields {
        fields.sort_by_key(|field| field.id);
    }
    fields
}

fn ordered(value: Value, alike: Alike, is_key: bool) -> Value {
    let each = |values: Vec<Value>, is_key| -> Vec<Value> {
        values.into_iter().map(|value| ordered(value, alike, is_key)).collect()
    };
    match value {
        Value::Double(bits) if is_key && f64::from_bits(bits).is_nan() => Value::Double(u64::MAX),
        Value::Double(bits) if is_key && f64::from_bits(bits) == 0.0 => Value::Double(0),
        Value::Plain(_) | Value::Double(_) => value,
        Value::Struct(fields) => Value::Struct(structure(fields, alike, is_key)),
        Value::List(kind, values) => Value::List(kind, each(values, is_key)),
        Value::Set(kind, values) => {
            let mut values = each(values, true);
            values.sort();
            values.dedup();
            Value::Set(kind, values)
        }
        Value::Map(kinds, pairs) => {
            let pair = |(key, value)| (ordered(key, alike, true), ordered(value, alike, is_key));
            // Reversed, so that the last of equal keys is the first, which stays.
            let mut pairs: Vec<_> = pairs.into_iter().rev().map(pair).collect();
            pairs.sort_by(|left, right| left.0.cmp(&right.0));
            pairs.dedup_by(|later, first| later.0 == first.0);
            Value::Map(kinds, pairs)
        }
    }
}

fn take<'a>(count: usize, from: &mut &'a [u8]) -> &'a [u8] {
    let (taken, rest) = from.split_at(count);
    *from = rest;
    taken
}

fn number(from: &mut &[u8]) -> usize {
    let bytes = take(4, from).try_into().expect("four bytes");
    u32::from_be_bytes(bytes) as usize
}

fn fields(from: &mut &[u8]) -> Vec<Field> {
    let mut fields = Vec::new();
    loop {
        let kind = take(1, from)[0];
        if kind == STOP {
            return fields;
        }
        let id = i16::from_be_bytes(take(2, from).try_into().expect("two bytes"));
        fields.push(Field { kind, id, value: value(kind, from) });
    }
}

fn value(kind: u8, from: &mut &[u8]) -> Value {
    match kind {
        DOUBLE => Value::Double(u64::from_be_bytes(take(8, from).try_into().expect("eight bytes"))),
        STRING => {
            let length = number(from);
            Value::Plain(take(length, from).to_vec())
        }
        STRUCT => Value::Struct(fields(from)),
        LIST | SET => {
            let kind_of_elements = take(1, from)[0];
            let count = number(from);
            let values = (0..count).map(|_| value(kind_of_elements, from)).collect();
            if kind == SET {
                Value::Set(kind_of_elements, values)
            } else {
                Value::List(kind_of_elements, values)
            }
        }
        MAP => {
            let kinds = [take(1, from)[0], take(1, from)[0]];
            let count = number(from);
            let pairs = (0..count).map(|_| (value(kinds[0], from), value(kinds[1], from)));
            Value::Map(kinds, pairs.collect())
        }
        _ => Value::Plain(take(size(kind), from).to_vec()),
    }
}

/// The bytes of a type of fixed size.
fn size(kind: u8) -> usize {
    match kind {
        2 | 3 => 1,
        6 => 2,
        8 => 4,
        10 => 8,
        16 => 16,
        _ => panic!("{kind} is not a type"),
    }
}

fn put_fields(fields: &[Field], to: &mut Vec<u8>) {
    for field in fields {
        to.push(field.kind);
        to.extend(field.id.to_be_bytes());
        put(field.kind, &field.value, to);
    }
    to.push(STOP);
}

fn put(kind: u8, value: &Value, to: &mut Vec<u8>) {
    let count = |count: usize, to: &mut Vec<u8>| {
        to.extend(u32::try_from(count).expect("a count").to_be_bytes());
    };
    match value {
        Value::Plain(bytes) => {
            if kind == STRING {
                count(bytes.len(), to);
            }
            to.extend(bytes);
        }
        Value::Double(bits) => to.extend(bits.to_be_bytes()),
        Value::Struct(fields) => put_fields(fields, to),
        Value::List(kind, values) | Value::Set(kind, values) => {
            to.push(*kind);
            count(values.len(), to);
            values.iter().for_each(|value| put(*kind, value, to));
        }
        Value::Map(kinds, pairs) => {
            to.extend(kinds);
            count(pairs.len(), to);
            for (key, value) in pairs {
                put(kinds[0], key, to);
                put(kinds[1], value, to);
            }
        }
    }
}

/// A field of a type and number that no random IDL has.
pub(crate) fn unknown() -> Field {
    let inner = Field { kind: 2, id: 1, value: Value::Plain(vec![1]) };
    Field { kind: LIST, id: 32_766, value: Value::List(STRUCT, vec![Value::Struct(vec![inner])]) }
}
