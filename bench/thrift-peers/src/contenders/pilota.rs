//! pilota, with its safe and its unsafe protocol.

use std::hint::black_box;

use ::pilota::thrift::Message;
use ::pilota::thrift::binary::TBinaryProtocol;
use ::pilota::thrift::binary_unsafe::{TBinaryUnsafeInputProtocol, TBinaryUnsafeOutputProtocol};
use ::pilota::{Bytes, BytesMut};

use super::{Case, Operation, fold_mixed, number};
use crate::generated::pilota as generated;
use crate::ours;

const SAFE: &str = "pilota";
const UNSAFE: &str = "pilota unsafe";

fn encode_safe<T: Message>(value: &T, buffer: &mut BytesMut) -> usize {
    buffer.clear();
    let size = value.size(&mut TBinaryProtocol::new((), false));
    buffer.reserve(size);
    value.encode(&mut TBinaryProtocol::new(buffer, false)).unwrap();
    size
}

fn encode_unsafe<T: Message>(value: &T, buffer: &mut BytesMut) -> usize {
    buffer.clear();
    let size = value.size(&mut TBinaryProtocol::new((), false));
    buffer.reserve(size);
    // SAFETY: as pilota asks for, the slice is the room of the buffer, which outlives the protocol,
    // and has as many bytes as the message takes.
    unsafe {
        let room = std::slice::from_raw_parts_mut(buffer.as_mut_ptr(), buffer.capacity());
        let mut protocol = TBinaryUnsafeOutputProtocol::new(&mut *buffer, room, false);
        value.encode(&mut protocol).unwrap();
        let written = protocol.index();
        buffer.set_len(written);
        written
    }
}

pub(super) fn decode_safe<T: Message>(bytes: &Bytes) -> T {
    let mut bytes = bytes.clone();
    T::decode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap()
}

fn decode_unsafe<T: Message>(bytes: &Bytes) -> T {
    let mut bytes = bytes.clone();
    // SAFETY: the bytes are a whole message.
    let mut protocol = unsafe { TBinaryUnsafeInputProtocol::new(&mut bytes) };
    T::decode(&mut protocol).unwrap()
}

/// Writing, decoding and reading.
pub(super) fn owned<T: Message + Clone + 'static>(
    value: T,
    read: fn(&T) -> u64,
    cases: &mut Vec<Case>,
) {
    let mut buffer = BytesMut::new();
    encode_safe(&value, &mut buffer);
    let bytes = buffer.clone().freeze();
    let for_unsafe = value.clone();
    cases.push(Case::new(SAFE, Operation::Encode, move || {
        encode_safe(black_box(&value), &mut buffer) as u64
    }));
    let mut buffer = BytesMut::new();
    cases.push(Case::new(UNSAFE, Operation::Encode, move || {
        encode_unsafe(black_box(&for_unsafe), &mut buffer) as u64
    }));
    decoded(&bytes, read, cases);
}

/// Decoding and reading.
pub(super) fn decoded<T: Message + 'static>(
    bytes: &Bytes,
    read: fn(&T) -> u64,
    cases: &mut Vec<Case>,
) {
    let message = bytes.clone();
    cases.push(Case::new(SAFE, Operation::Decode, move || {
        black_box(decode_safe::<T>(black_box(&message)));
        0
    }));
    let message = bytes.clone();
    cases.push(Case::new(UNSAFE, Operation::Decode, move || {
        black_box(decode_unsafe::<T>(black_box(&message)));
        0
    }));
    let message = bytes.clone();
    cases.push(Case::new(SAFE, Operation::Read, move || {
        read(&decode_safe::<T>(black_box(&message)))
    }));
    let message = bytes.clone();
    cases.push(Case::new(UNSAFE, Operation::Read, move || {
        read(&decode_unsafe::<T>(black_box(&message)))
    }));
}

fn mixed(mixed: ours::Mixed) -> generated::Mixed {
    generated::Mixed {
        flag: mixed.flag,
        count: mixed.count,
        stamp: mixed.stamp,
        ratio: mixed.ratio,
        name: mixed.name.into(),
        numbers: mixed.numbers,
    }
}

fn fold(mixed: &generated::Mixed) -> u64 {
    let numbers = mixed.numbers.iter().copied().fold(0, i64::wrapping_add) as u64;
    let rest = fold_mixed(mixed.flag, mixed.count, mixed.stamp, mixed.ratio, &mixed.name);
    rest.wrapping_add(numbers)
}

fn sum(test: &generated::MyTest) -> u64 {
    let sum = test.nums.iter().copied().fold(0, i64::wrapping_add);
    (test.num + test.ano.a).wrapping_add(sum) as u64
}

pub fn batch(value: ours::Batch, cases: &mut Vec<Case>) {
    let value = generated::Batch { items: value.items.into_iter().map(mixed).collect() };
    owned(value, |batch| batch.items.iter().map(fold).fold(0, u64::wrapping_add), cases);
}

pub fn my_test(value: ours::MyTest, cases: &mut Vec<Case>) {
    let count = value.nums.len();
    let ano = generated::Ano { a: value.ano.a };
    owned(generated::MyTest { num: value.num, ano, nums: value.nums }, sum, cases);
    let mut buffer = BytesMut::new();
    cases.push(Case::new(SAFE, Operation::Cycle, move || {
        let nums = (0..black_box(count)).map(number).collect();
        let test = generated::MyTest { num: 1, ano: generated::Ano { a: 2 }, nums };
        encode_safe(&test, &mut buffer);
        let bytes = buffer.split().freeze();
        sum(&decode_safe(&bytes))
    }));
}
