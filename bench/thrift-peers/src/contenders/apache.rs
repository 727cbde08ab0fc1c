//! Apache's crate thrift.

use std::hint::black_box;

use thrift::OrderedFloat;
use thrift::protocol::{TBinaryInputProtocol, TBinaryOutputProtocol, TSerializable};

use super::{Case, Operation, fold_mixed};
use crate::generated::apache as generated;
use crate::ours;

const NAME: &str = "thrift";

fn encode<T: TSerializable>(value: &T, buffer: &mut Vec<u8>) -> usize {
    buffer.clear();
    value.write_to_out_protocol(&mut TBinaryOutputProtocol::new(&mut *buffer, true)).unwrap();
    buffer.len()
}

fn decode<T: TSerializable>(bytes: &[u8]) -> T {
    T::read_from_in_protocol(&mut TBinaryInputProtocol::new(bytes, true)).unwrap()
}

fn owned<T: TSerializable + 'static>(value: T, read: fn(&T) -> u64, cases: &mut Vec<Case>) {
    let mut buffer = Vec::new();
    encode(&value, &mut buffer);
    let bytes = buffer.clone();
    cases.push(Case::new(NAME, Operation::Encode, move || {
        encode(black_box(&value), &mut buffer) as u64
    }));
    let message = bytes.clone();
    cases.push(Case::new(NAME, Operation::Decode, move || {
        black_box(decode::<T>(black_box(&message)));
        0
    }));
    cases.push(Case::new(NAME, Operation::Read, move || read(&decode::<T>(black_box(&bytes)))));
}

fn mixed(mixed: ours::Mixed) -> generated::Mixed {
    let ours::Mixed { flag, count, stamp, ratio, name, numbers } = mixed;
    generated::Mixed { flag, count, stamp, ratio: OrderedFloat(ratio), name, numbers }
}

fn fold(mixed: &generated::Mixed) -> u64 {
    let numbers = mixed.numbers.iter().copied().fold(0, i64::wrapping_add) as u64;
    let rest = fold_mixed(mixed.flag, mixed.count, mixed.stamp, mixed.ratio.0, &mixed.name);
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
    let ano = generated::Ano { a: value.ano.a };
    owned(generated::MyTest { num: value.num, ano, nums: value.nums }, sum, cases);
}
