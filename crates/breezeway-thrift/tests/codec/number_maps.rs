//! Maps of numbers are written and read as pair by pair.

use std::collections::{BTreeMap, HashMap};

use breezeway_thrift::{
    DecodeError, Encode, EncodeError, Entries, Fault, Pairs, decode_once, decode_slice,
    encode_slice, to_vec, view_slice,
};

fn map() -> BTreeMap<i32, i64> {
    (0..50).map(|index| (index * 7, i64::from(index) << 33)).collect()
}

/// The bytes of the map, made one by one.
fn bytes() -> Vec<u8> {
    let mut bytes = vec![8, 10, 0, 0, 0, 50];
    for (key, value) in map() {
        bytes.extend(key.to_be_bytes());
        bytes.extend(value.to_be_bytes());
    }
    bytes
}

#[test]
fn of_repeated_keys_the_last_counts_in_short_maps_and_long_ones() {
    for count in [2, 11, 12, 13, 100] {
        let pairs: Pairs<i32, i64> =
            (0..count).map(|index| (index / 2, i64::from(index))).collect();
        for pairs in [pairs.clone(), pairs.iter().rev().copied().collect()] {
            let bytes = to_vec(&pairs).unwrap();
            let mut last = BTreeMap::new();
            for (key, value) in pairs.iter() {
                last.insert(*key, *value);
            }
            assert_eq!(decode_slice::<BTreeMap<i32, i64>>(&bytes).as_ref(), Ok(&last));
            assert_eq!(decode_once::<BTreeMap<i32, i64>>(&bytes), Ok(last));
        }
    }
}

#[test]
fn all_kinds_of_maps_have_the_same_bytes() {
    assert_eq!(to_vec(&map()).unwrap(), bytes());
    assert_eq!(to_vec(&map().into_iter().collect::<Pairs<_, _>>()).unwrap(), bytes());
    let one: HashMap<i32, i64> = [(1, 2)].into();
    assert_eq!(to_vec(&one).unwrap(), [8, 10, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
}

#[test]
fn all_readers_give_the_map() {
    let bytes = bytes();
    assert_eq!(decode_slice::<BTreeMap<i32, i64>>(&bytes), Ok(map()));
    assert_eq!(decode_once::<BTreeMap<i32, i64>>(&bytes[..]), Ok(map()));
    let viewed: Entries<'_, i32, i64> = view_slice(&bytes).unwrap();
    assert!(viewed.iter().eq(map()));
    assert_eq!(viewed.find(&14), Some(2 << 33));
    assert_eq!(viewed.find(&15), None);
}

#[test]
fn a_map_that_does_not_fit_is_not_begun() {
    let mut buffer = [0xaa; 100];
    let needed = map().size();
    assert_eq!(needed, 6 + 50 * 12);
    assert_eq!(encode_slice(&map(), &mut buffer), Err(EncodeError::Full { needed, capacity: 100 }));
    assert_eq!(buffer[6..], [0xaa; 94]);
}

#[test]
fn a_bool_in_a_map_is_0_or_1() {
    let bytes = [8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 2, 5];
    let error = DecodeError { offset: 15, fault: Fault::Bool(5) };
    assert_eq!(decode_slice::<BTreeMap<i32, bool>>(&bytes), Err(error.clone()));
    assert_eq!(view_slice::<Entries<'_, i32, bool>>(&bytes), Err(error));
    let last = bytes.len() - 1;
    decode_slice::<BTreeMap<i32, bool>>(&[&bytes[..last], &[1]].concat()).unwrap();
}

#[test]
fn a_map_cut_short_is_refused() {
    let bytes = bytes();
    for end in 0..bytes.len() {
        decode_slice::<BTreeMap<i32, i64>>(&bytes[..end]).unwrap_err();
        view_slice::<Entries<'_, i32, i64>>(&bytes[..end]).unwrap_err();
    }
}
