//! breezeway-thrift.

use std::hint::black_box;
use std::rc::Rc;

use breezeway_thrift::{
    Decode, Encode, Output, decode_once, decode_slice, encode_slice, encode_vec, to_vec, view_slice,
};

use super::{Case, Operation, fold_mixed, number};
use crate::generated::small;
use crate::ours::{Batch, BatchView, MixedView, MyTest, MyTestView, MyTestWriter};

pub(super) const NAME: &str = "breezeway";

/// Writing and decoding, and the bytes.
pub(super) fn owned<T>(value: T, cases: &mut Vec<Case>) -> Vec<u8>
where
    T: Encode + Decode + 'static,
{
    let bytes = to_vec(&value).unwrap();
    decoded::<T>(&bytes, cases);
    let value = Rc::new(value);
    let (mut buffer, same) = (vec![0; bytes.len()], Rc::clone(&value));
    cases.push(Case::new(NAME, Operation::Encode, move || {
        let size = black_box(&*same).size();
        encode_slice(black_box(&*same), &mut buffer[..size]).unwrap() as u64
    }));
    let mut buffer = Vec::new();
    cases.push(Case::new("breezeway, reused vector", Operation::Encode, move || {
        encode_vec(black_box(&*value), &mut buffer).unwrap();
        black_box(&buffer).len() as u64
    }));
    bytes
}

/// Decoding.
pub(super) fn decoded<T: Decode + 'static>(bytes: &[u8], cases: &mut Vec<Case>) {
    let message = bytes.to_vec();
    cases.push(Case::new(NAME, Operation::Decode, move || {
        black_box(decode_slice::<T>(black_box(&message)).unwrap());
        0
    }));
    let message = bytes.to_vec();
    cases.push(Case::new("breezeway, each byte once", Operation::Decode, move || {
        black_box(decode_once::<T>(black_box(&message)).unwrap());
        0
    }));
}

/// Decoding, with short text in place.
pub(super) fn decoded_small<T: Decode + 'static>(bytes: &[u8], cases: &mut Vec<Case>) {
    let message = bytes.to_vec();
    cases.push(Case::new("breezeway, small strings", Operation::Decode, move || {
        black_box(decode_slice::<T>(black_box(&message)).unwrap());
        0
    }));
}

fn fold_view(mixed: MixedView<'_>) -> u64 {
    let numbers = mixed.numbers.iter().fold(0, i64::wrapping_add) as u64;
    let rest = fold_mixed(mixed.flag, mixed.count, mixed.stamp, mixed.ratio, mixed.name);
    rest.wrapping_add(numbers)
}

fn sum(test: &MyTestView<'_>) -> u64 {
    let sum = test.nums.iter().fold(0, i64::wrapping_add);
    (test.num + test.ano.a).wrapping_add(sum) as u64
}

pub fn batch(value: Batch, cases: &mut Vec<Case>) {
    let bytes = owned(value, cases);
    decoded_small::<small::Batch>(&bytes, cases);
    cases.push(Case::new(NAME, Operation::Read, move || {
        let batch: BatchView<'_> = view_slice(black_box(&bytes)).unwrap();
        batch.items.iter().map(fold_view).fold(0, u64::wrapping_add)
    }));
}

pub fn my_test(value: MyTest, cases: &mut Vec<Case>) {
    let count = value.nums.len();
    let bytes = owned(value, cases);
    let size = bytes.len();
    cases.push(Case::new(NAME, Operation::Read, move || {
        let test: MyTestView<'_> = view_slice(black_box(&bytes)).unwrap();
        sum(&test)
    }));
    let mut buffer = vec![0; size];
    cases.push(Case::new(NAME, Operation::Cycle, move || {
        let mut output = Output::new(&mut buffer);
        MyTestWriter::new(&mut output)
            .num(1)
            .ano(|ano| ano.a(2))
            .nums((0..black_box(count)).map(number))
            .end();
        let size = output.finish().unwrap();
        let test: MyTestView<'_> = view_slice(black_box(&buffer[..size])).unwrap();
        sum(&test)
    }));
}
