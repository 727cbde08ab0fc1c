//! Lists of numbers of every type and length, at every address, are converted as one by one.

use breezeway_thrift::{
    Chain, DecodeError, Encode, Fault, Fixed, NumberList, Pool, Set, Slice, Uuid, View, WireType,
    decode_once, decode_slice, encode_slice, open_enum, to_vec, view_slice,
};

/// Writes the bytes of a list, one element at a time.
fn encoded<T: Fixed>(list: &[T], to: &mut Vec<u8>) {
    to.push(T::WIRE_TYPE as u8);
    to.extend_from_slice(&(list.len() as u32).to_be_bytes());
    for value in list {
        let mut bytes = vec![0; T::SIZE];
        value.put(&mut bytes);
        to.extend_from_slice(&bytes);
    }
}

/// Encodes into a buffer with room for more.
fn with_room<T: Encode>(value: &T, room: usize) -> Vec<u8> {
    let mut buffer = vec![0xaa; value.size() + room];
    let size = encode_slice(value, &mut buffer).unwrap();
    // Short lists may be written with zeros behind them.
    assert!(buffer[size..].iter().all(|byte| [0, 0xaa].contains(byte)));
    assert!(buffer[(size + 128).min(size + room)..].iter().all(|byte| *byte == 0xaa));
    buffer.truncate(size);
    buffer
}

/// Encodes for a socket.
fn chained<T: Encode>(value: &T) -> Vec<u8> {
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    value.encode(&mut chain);
    let mut bytes = Vec::new();
    chain.write_to(&mut bytes).unwrap();
    bytes
}

/// Writes and reads lists of up to 100 numbers at up to nine addresses.
fn check<T>(number: impl Fn(u64) -> T)
where
    T: Fixed + PartialEq + std::fmt::Debug + Encode + breezeway_thrift::Decode,
{
    for length in 0..100 {
        let list: Vec<T> = (0..length).map(&number).collect();
        for offset in 0..9 {
            let mut bytes = vec![0; offset];
            encoded(&list, &mut bytes);
            let bytes = &bytes[offset..];
            assert_eq!(to_vec(&list).unwrap(), bytes);
            assert_eq!(with_room(&list, 200), bytes);
            assert_eq!(chained(&list), bytes);
            assert_eq!(decode_slice::<Vec<T>>(bytes).as_ref(), Ok(&list));
            assert_eq!(decode_once::<Vec<T>>(bytes).as_ref(), Ok(&list));
            assert_reads(bytes, &list);
        }
    }
    let long: Vec<T> = (0..5000).map(&number).collect();
    let bytes = to_vec(&Set(long.clone())).unwrap();
    assert_eq!(decode_slice::<Set<T>>(&bytes), Ok(Set(long.clone())));
    assert_eq!(decode_once::<Set<T>>(&bytes[..]), Ok(Set(long)));
}

fn assert_reads<T: Fixed + PartialEq + std::fmt::Debug>(bytes: &[u8], list: &[T]) {
    let viewed: NumberList<'_, T> = view_slice(bytes).unwrap();
    assert_eq!((viewed.len(), viewed.is_empty()), (list.len(), list.is_empty()));
    assert_eq!(viewed.to_vec(), list);
    assert!(viewed.iter().eq(list.iter().copied()));
    assert!(viewed.iter().rev().eq(list.iter().rev().copied()));
    assert_eq!(viewed.iter().fold(Vec::new(), appended), list);
    let mut partly = viewed.iter();
    assert_eq!(partly.nth(1), list.get(1).copied());
    assert_eq!(partly.len(), list.len().saturating_sub(2));
    assert_eq!(partly.fold(Vec::new(), appended), list.get(2..).unwrap_or_default());
    assert_eq!(viewed.iter().nth(list.len()), None);
    assert_eq!(viewed.iter().nth(usize::MAX), None);
    let mut copy = list.to_vec();
    copy.reverse();
    viewed.copy_to(&mut copy);
    assert_eq!(copy, list);
    for (index, value) in list.iter().enumerate() {
        assert_eq!(viewed.get(index), Some(*value));
    }
    assert_eq!(viewed.get(list.len()), None);
    assert_eq!(viewed.get(usize::MAX), None);
}

fn appended<T>(mut list: Vec<T>, value: T) -> Vec<T> {
    list.push(value);
    list
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Color(pub i32);

open_enum!(Color);

#[test]
fn enums() {
    check(|index| Color((index * 50_462_977) as i32));
}

#[test]
fn bytes() {
    check(|index| (index as i8).wrapping_sub(50));
}

#[test]
fn bools() {
    check(|index| index % 3 == 0);
}

#[test]
fn shorts() {
    check(|index| (index * 771) as i16);
}

#[test]
fn ints() {
    check(|index| (index * 50_462_977) as i32);
}

#[test]
fn longs() {
    check(|index| (index.wrapping_mul(0x0102_0304_0506_0709)) as i64);
}

#[test]
fn doubles() {
    check(|index| index as f64 / 7.0);
}

#[test]
fn uuids() {
    check(|index| Uuid([index as u8; 16]));
}

#[test]
fn the_bits_of_doubles_are_kept() {
    let list = [f64::NAN, -0.0, f64::from_bits(0x7ff0_0000_0000_0001), f64::NEG_INFINITY].repeat(5);
    let read: Vec<f64> = decode_slice(&to_vec(&list).unwrap()).unwrap();
    let bits = |list: &[f64]| list.iter().map(|double| double.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&read), bits(&list));
}

#[test]
fn a_sum_wraps_around() {
    for length in [0, 1, 7, 8, 9, 100] {
        let list: Vec<i64> = (0..length).map(|index| i64::MAX - index).collect();
        let bytes = to_vec(&list).unwrap();
        let viewed: NumberList<'_, i64> = view_slice(&bytes).unwrap();
        assert_eq!(viewed.sum(), list.iter().copied().fold(0, i64::wrapping_add));
    }
}

#[test]
fn invalid_bool_is_refused_at_its_offset() {
    for length in [1, 7, 40, 5000] {
        for position in [0, length / 2, length - 1] {
            let mut bytes = to_vec(&vec![true; length]).unwrap();
            bytes[5 + position] = 2;
            let error = DecodeError { offset: 5 + position, fault: Fault::Bool(2) };
            assert_eq!(decode_slice::<Vec<bool>>(&bytes).as_ref(), Err(&error));
            assert_eq!(decode_once::<Vec<bool>>(&bytes[..]).as_ref(), Err(&error));
            let viewed = NumberList::<'_, bool>::view(&mut Slice::new(&bytes).unwrap());
            assert_eq!(viewed.as_ref(), Err(&error));
        }
    }
}

#[test]
fn copying_into_a_slice_of_another_length_panics() {
    let bytes = to_vec(&vec![1i64, 2]).unwrap();
    let viewed: NumberList<'_, i64> = view_slice(&bytes).unwrap();
    let mut copy = [0; 2];
    viewed.copy_to(&mut copy);
    assert_eq!(copy, [1, 2]);
    std::panic::catch_unwind(|| viewed.copy_to(&mut [0; 3])).unwrap_err();
    assert_eq!(viewed.as_bytes().len(), 16);
    assert_eq!(<NumberList<'_, i64> as breezeway_thrift::Wire>::WIRE_TYPE, WireType::List);
}
