//! breezeway-thrift.

use std::hint::black_box;

use breezeway_thrift::{Decode, Encode, Output, decode_slice, decode_once, encode_slice, to_vec, view_slice};

use super::{Case, Operation, fold_mixed, number};
use crate::ours::{Batch, BatchView, MixedView, MyTest, MyTestView, MyTestWriter};

const NAME: &str = "breezeway";

fn owned<T: Encode + Decode + 'static>(value: T, cases: &mut Vec<Case>) -> Vec<u8> {
    let bytes = to_vec(&value).unwrap();
    let mut buffer = vec![0; bytes.len()];
    cases.push(Case::new(NAME, Operation::Encode, move || {
        let size = black_box(&value).size();
        encode_slice(black_box(&value), &mut buffer[..size]).unwrap() as u64
    }));
    let message = bytes.clone();
    cases.push(Case::new(NAME, Operation::Decode, move || {
        black_box(decode_slice::<T>(black_box(&message)).unwrap());
        0
    }));
    let message = bytes.clone();
    cases.push(Case::new("breezeway, each byte once", Operation::Decode, move || {
        let bytes = black_box(message.as_slice());
        black_box(decode_once::<T>(bytes).unwrap());
        0
    }));
    bytes
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
