//! Binaries that are parts of the message are written and read as others are.

use std::collections::BTreeMap;

use breezeway_thrift::{
    Bytes, Chain, Decode, DecodeError, Fault, Limits, Pool, SharedSlice, Sink, Slice, decode_once,
    decode_shared, decode_slice, to_vec,
};

#[test]
fn shared_bytes_behave_like_other_binaries() {
    for length in [0, 1, 7, 31, 256, 257, 5000] {
        let value: Vec<u8> = (0..length).map(|index| index as u8).collect();
        let message = Bytes::from(to_vec(&value).unwrap());
        let shared = Bytes::from(value);
        assert_eq!(to_vec(&shared).unwrap(), message);
        assert_eq!(decode_shared::<Bytes>(&message).as_ref(), Ok(&shared));
        assert_eq!(decode_slice::<Bytes>(&message).as_ref(), Ok(&shared));
        assert_eq!(decode_once::<Bytes>(&message[..]).as_ref(), Ok(&shared));
        for end in 0..message.len() {
            let cut = message.slice(..end);
            let refused = decode_slice::<Vec<u8>>(&cut).unwrap_err();
            assert_eq!(decode_shared::<Bytes>(&cut).as_ref(), Err(&refused));
            assert_eq!(decode_slice::<Bytes>(&cut).as_ref(), Err(&refused));
            assert_eq!(decode_once::<Bytes>(&cut[..]).as_ref(), Err(&refused));
        }
    }
    let map = BTreeMap::from([(Bytes::from_static(b"key"), vec![Bytes::new()])]);
    assert_eq!(decode_shared(&to_vec(&map).unwrap().into()), Ok(map));
}

#[test]
fn a_part_lies_in_the_message_and_keeps_it() {
    let message = Bytes::from(to_vec(&vec![vec![1_u8; 3], vec![2; 4]]).unwrap());
    let place = message.as_ptr_range();
    let parts: Vec<Bytes> = decode_shared(&message).unwrap();
    for part in &parts {
        assert!(place.contains(&part.as_ptr()), "it is a copy");
    }
    assert!(!message.is_unique(), "nobody may write to it while there are parts");
    drop(message);
    assert_eq!(parts, [&[1_u8; 3][..], &[2; 4]]);
}

#[test]
fn parts_of_a_part_of_a_buffer_are_the_right_ones() {
    let mut buffer = b"what came before".to_vec();
    let start = buffer.len();
    buffer.extend(to_vec(&vec![b"one".to_vec(), b"two".to_vec()]).unwrap());
    let end = buffer.len();
    buffer.extend(b"what came behind");
    let message = Bytes::from(buffer).slice(start..end);
    assert_eq!(decode_shared::<Vec<Bytes>>(&message).unwrap(), ["one", "two"]);
}

#[test]
fn bytes_behind_the_end_are_refused_and_kept_apart() {
    let mut bytes = to_vec(&Bytes::from_static(b"abc")).unwrap();
    bytes.push(9);
    let message = Bytes::from(bytes);
    let refused = DecodeError { offset: 7, fault: Fault::Trailing(1) };
    assert_eq!(decode_shared::<Bytes>(&message), Err(refused));
}

/// Two binaries of 100 bytes.
fn two() -> Bytes {
    to_vec(&vec![vec![0_u8; 100]; 2]).unwrap().into()
}

#[test]
fn only_copies_count_against_the_limit_of_memory() {
    // The list has two places of the size of a `Bytes`, and is a piece of memory.
    let list = 2 * size_of::<Bytes>() + 16;
    let shared = |memory| {
        let limits = Limits { memory, ..Limits::default() };
        Vec::<Bytes>::decode(&mut SharedSlice::within(limits, &two()).unwrap()).map(drop)
    };
    let copied = |memory| {
        let limits = Limits { memory, ..Limits::default() };
        Vec::<Bytes>::decode(&mut Slice::within(limits, &two()).unwrap()).map(drop)
    };
    assert_eq!(shared(list), Ok(()));
    assert_eq!(copied(list + 2 * 116), Ok(()));
    let fault = |result: Result<(), DecodeError>| result.unwrap_err().fault;
    assert_eq!(fault(shared(list - 1)), Fault::Memory { needed: list, left: list - 1 });
    assert_eq!(fault(copied(list + 2 * 116 - 1)), Fault::Memory { needed: 116, left: 115 });
}

#[test]
fn limits_of_size_and_depth_hold() {
    let message = two();
    let size = Limits { size: message.len() - 1, ..Limits::default() };
    assert!(matches!(
        SharedSlice::within(size, &message).unwrap_err().fault,
        Fault::Size { limit, .. } if limit == message.len() - 1
    ));
    let depth = Limits { depth: 0, ..Limits::default() };
    let refused = Vec::<Bytes>::decode(&mut SharedSlice::within(depth, &message).unwrap());
    assert_eq!(refused.unwrap_err().fault, Fault::Depth);
}

#[test]
fn a_part_is_sent_from_where_it_came() {
    let message = Bytes::from(to_vec(&vec![7_u8; 5000]).unwrap());
    let part: Bytes = decode_shared(&message).unwrap();
    let mut pool = Pool::default();
    let mut chain = Chain::new(&mut pool);
    chain.field(1, &part);
    let slices = chain.slices().unwrap();
    assert_eq!(slices[1].as_ptr(), message[4..].as_ptr());
}
