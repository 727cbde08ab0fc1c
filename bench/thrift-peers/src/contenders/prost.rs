//! prost: Protobuf with packed `sfixed64` lists, its fastest encoding of numbers.

use std::hint::black_box;

use ::prost::Message;

use super::{Case, Operation, fold_mixed};
use crate::ours;

const NAME: &str = "prost";

#[derive(Clone, PartialEq, Message)]
pub struct Ano {
    #[prost(int64, tag = "1")]
    pub a: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct MyTest {
    #[prost(int64, tag = "1")]
    pub num: i64,
    #[prost(message, optional, tag = "2")]
    pub ano: Option<Ano>,
    #[prost(sfixed64, repeated, tag = "3")]
    pub nums: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Mixed {
    #[prost(bool, tag = "1")]
    pub flag: bool,
    #[prost(int32, tag = "2")]
    pub count: i32,
    #[prost(int64, tag = "3")]
    pub stamp: i64,
    #[prost(double, tag = "4")]
    pub ratio: f64,
    #[prost(string, tag = "5")]
    pub name: String,
    #[prost(sfixed64, repeated, tag = "6")]
    pub numbers: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Batch {
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<Mixed>,
}

fn owned<T: Message + Default + 'static>(value: T, read: fn(&T) -> u64, cases: &mut Vec<Case>) {
    let bytes = value.encode_to_vec();
    let mut buffer = Vec::with_capacity(bytes.len());
    cases.push(Case::new(NAME, Operation::Encode, move || {
        buffer.clear();
        black_box(&value).encode(&mut buffer).unwrap();
        buffer.len() as u64
    }));
    let message = bytes.clone();
    cases.push(Case::new(NAME, Operation::Decode, move || {
        black_box(T::decode(black_box(message.as_slice())).unwrap());
        0
    }));
    cases.push(Case::new(NAME, Operation::Read, move || {
        read(&T::decode(black_box(bytes.as_slice())).unwrap())
    }));
}

fn mixed(mixed: ours::Mixed) -> Mixed {
    let ours::Mixed { flag, count, stamp, ratio, name, numbers } = mixed;
    Mixed { flag, count, stamp, ratio, name, numbers }
}

fn fold(mixed: &Mixed) -> u64 {
    let numbers = mixed.numbers.iter().copied().fold(0, i64::wrapping_add) as u64;
    let rest = fold_mixed(mixed.flag, mixed.count, mixed.stamp, mixed.ratio, &mixed.name);
    rest.wrapping_add(numbers)
}

fn sum(test: &MyTest) -> u64 {
    let sum = test.nums.iter().copied().fold(0, i64::wrapping_add);
    (test.num + test.ano.as_ref().map_or(0, |ano| ano.a)).wrapping_add(sum) as u64
}

pub fn batch(value: ours::Batch, cases: &mut Vec<Case>) {
    let value = Batch { items: value.items.into_iter().map(mixed).collect() };
    owned(value, |batch| batch.items.iter().map(fold).fold(0, u64::wrapping_add), cases);
}

pub fn my_test(value: ours::MyTest, cases: &mut Vec<Case>) {
    let ano = Some(Ano { a: value.ano.a });
    owned(MyTest { num: value.num, ano, nums: value.nums }, sum, cases);
}
