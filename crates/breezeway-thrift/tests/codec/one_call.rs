//! Functions that take one call: reused buffers, bytes with more behind them, owned and viewed
//! alike.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use breezeway_idl_corpus::arbitrary;
use breezeway_idl_corpus::sample::{Mixed, MixedView, MixedWriter, Node, NodeView, Shape};
use breezeway_thrift::{
    Elements, Encode, EncodeError, Entries, InPlace, IntoOwned, MessageHeader, MessageKind, Nested,
    NumberList, Output, Pairs, Sequence, Set, SetOf, Sink, Size, Wire, decode_once, decode_prefix,
    decode_slice, encode_vec, message_to_vec, message_vec, to_vec, view_prefix, view_slice,
};
use proptest::prelude::*;

/// Counts how often it is written.
struct Counted<'c>(Node, &'c Cell<usize>);

impl Wire for Counted<'_> {}

impl Encode for Counted<'_> {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        self.1.set(self.1.get() + 1);
        self.0.encode(to);
    }
}

fn node(blob: usize) -> Node {
    Node { value: 7, blob: vec![1; blob], ..Node::default() }
}

#[test]
fn a_reused_vector_holds_exactly_the_last_message() {
    let mut buffer = Vec::new();
    for blob in [0, 5, 5000, 4999, 6, 100_000, 0, 100_000, 120_000] {
        encode_vec(&node(blob), &mut buffer).unwrap();
        assert_eq!(buffer, to_vec(&node(blob)).unwrap());
    }
}

#[test]
fn message_of_similar_size_is_written_once() {
    let written = Cell::new(0);
    let mut buffer = Vec::with_capacity(1 << 20);
    for blob in [5000, 5700, 4800, 5500] {
        encode_vec(&Counted(node(blob), &written), &mut buffer).unwrap();
        let first = usize::from(blob == 5000);
        assert_eq!(written.replace(0), 1 + first, "{blob}");
        assert_eq!(buffer.capacity(), 1 << 20);
    }
    // A message that is much longer is written again, into a buffer of its size.
    encode_vec(&Counted(node(500_000), &written), &mut buffer).unwrap();
    assert_eq!((written.get(), buffer.len()), (2, node(500_000).size()));
}

#[test]
fn a_vector_is_empty_after_an_error() {
    let mut buffer = b"before".to_vec();
    assert_eq!(encode_vec(&Shape::Unset, &mut buffer), Err(EncodeError::EmptyUnion("Shape")));
    assert_eq!(buffer, b"");
}

#[test]
fn a_reused_vector_takes_whole_messages() {
    let header = MessageHeader { kind: MessageKind::Call, name: "get".to_owned(), sequence: 5 };
    let mut buffer = vec![9; 3];
    for blob in [0, 5000] {
        message_vec(&header, &node(blob), &mut buffer).unwrap();
        assert_eq!(buffer, message_to_vec(&header, &node(blob)).unwrap());
    }
}

#[test]
fn bytes_behind_a_value_are_returned() {
    let mut bytes = to_vec(&node(5)).unwrap();
    bytes.extend(b"more");
    let (owned, rest) = decode_prefix::<Node>(&bytes).unwrap();
    assert_eq!((owned, rest), (node(5), &b"more"[..]));
    let (viewed, rest) = view_prefix::<NodeView<'_>>(&bytes).unwrap();
    assert_eq!((viewed.blob, rest), (&[1; 5][..], &b"more"[..]));
    decode_prefix::<Node>(&bytes[..9]).unwrap_err();
    view_prefix::<NodeView<'_>>(&bytes[..9]).unwrap_err();
}

#[test]
fn decode_once_accepts_a_slice_with_or_without_length() {
    let bytes = to_vec(&node(5)).unwrap();
    assert_eq!(decode_once(&bytes), Ok(node(5)));
    assert_eq!(decode_once(bytes.as_slice()), Ok(node(5)));
    assert_eq!(decode_once((bytes.as_slice(), bytes.len())), Ok(node(5)));
}

#[test]
fn a_writer_is_sized_without_a_buffer() {
    fn write<'a>(to: &mut impl Sink<'a>, filled: &Cell<usize>) {
        MixedWriter::new(to)
            .flag(true)
            .name_in_place(4, |place| {
                filled.set(filled.get() + 1);
                place.fill(b'x');
            })
            .numbers((0..100i32).map(i64::from))
            .end();
    }
    let filled = Cell::new(0);
    let mut size = Size::new();
    write(&mut size, &filled);
    assert_eq!(filled.get(), 0);
    let mut buffer = vec![0; size.bytes()];
    let mut output = Output::new(&mut buffer);
    write(&mut output, &filled);
    assert_eq!(output.finish(), Ok(size.bytes()));
}

fn total<'l, L: Sequence<'l, Item: Borrow<i64>>>(list: &'l L) -> i64 {
    list.items().map(|item| *item.borrow()).sum()
}

fn joined<'l, L: Sequence<'l, Item: AsRef<str>>>(list: &'l L) -> String {
    list.items().fold(String::new(), |all, item| all + item.as_ref())
}

#[test]
fn one_function_reads_owned_and_viewed_lists() {
    let numbers = vec![1i64, 2, 40];
    let bytes = to_vec(&numbers).unwrap();
    let viewed: NumberList<'_, i64> = view_slice(&bytes).unwrap();
    assert_eq!((total(&numbers), total(&viewed), total(&SetOf(viewed))), (43, 43, 43));
    assert_eq!(total(&Set(numbers.clone())), 43);
    assert_eq!(total(&BTreeSet::from_iter(numbers.clone())), 43);
    assert_eq!(total(&HashSet::<i64>::from_iter(numbers)), 43);
    let names = vec!["ann".to_owned(), "bob".to_owned()];
    let bytes = to_vec(&names).unwrap();
    let viewed: Elements<'_, &str> = view_slice(&bytes).unwrap();
    assert_eq!((joined(&names), joined(&viewed)), ("annbob".to_owned(), "annbob".to_owned()));
}

#[test]
fn lists_sets_and_maps_are_written_from_iterators() {
    fn message(write: impl FnOnce(&mut Output<'_>)) -> Result<Vec<u8>, EncodeError> {
        let mut buffer = vec![0; 1000];
        let mut output = Output::new(&mut buffer);
        write(&mut output);
        let size = output.finish()?;
        buffer.truncate(size);
        Ok(buffer)
    }
    let names = vec!["ann".to_owned(), "bob".to_owned()];
    let ages = BTreeMap::from([("ann".to_owned(), 4i32), ("bob".to_owned(), 5)]);
    assert_eq!(
        message(|to| to.list_of(1, names.iter().map(String::as_str))),
        message(|to| to.field(1, &names)),
    );
    let set = Set(names.clone());
    assert_eq!(message(|to| to.set_of(2, &set.0)), message(|to| to.field(2, &set)));
    assert_eq!(message(|to| to.map_of(3, &ages)), message(|to| to.field(3, &ages)));
    assert_eq!(
        message(|to| to.map_of(3, ages.iter().map(|(name, age)| (name.as_str(), age)))),
        message(|to| to.field(3, &ages)),
    );
    struct Liar<I>(I);
    impl<I: Iterator> Iterator for Liar<I> {
        type Item = I::Item;
        fn next(&mut self) -> Option<I::Item> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (3, Some(3))
        }
    }
    impl<I: Iterator> ExactSizeIterator for Liar<I> {}
    let count = Err(EncodeError::Count { announced: 3, given: 2 });
    assert_eq!(message(|to| to.list_of(1, Liar(names.iter()))), count);
    assert_eq!(message(|to| to.map_of(1, Liar(ages.iter()))), count);
}

fn forwarded<T: Encode>(view: &T) -> Vec<u8> {
    to_vec(view).unwrap()
}

#[test]
fn unread_nested_value_is_an_empty_struct() {
    assert_eq!(forwarded(&Nested::<'_, MixedView<'_>>::default()), [0]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn parts_of_a_view_are_forwarded_byte_for_byte_and_converted(node in arbitrary::node()) {
        let bytes = to_vec(&node).unwrap();
        let viewed: NodeView<'_> = view_slice(&bytes).unwrap();
        prop_assert_eq!(forwarded(&viewed.children), to_vec(&node.children).unwrap());
        prop_assert_eq!(forwarded(&viewed.table), to_vec(&node.table).unwrap());
        prop_assert_eq!(forwarded(&viewed.set_of_numbers), to_vec(&node.set_of_numbers).unwrap());
        prop_assert_eq!(forwarded(&viewed.tags), to_vec(&node.tags).unwrap());
        prop_assert_eq!(forwarded(&viewed.mixed), to_vec(&node.mixed).unwrap());
        prop_assert_eq!(
            viewed.next_node.map(|next| forwarded(&next)),
            node.next_node.as_ref().map(|next| to_vec(next).unwrap())
        );
        prop_assert_eq!(IntoOwned::<Vec<u8>>::into_owned(viewed.blob), node.blob);
        prop_assert_eq!(IntoOwned::<Set<String>>::into_owned(viewed.tags), node.tags);
        prop_assert_eq!(IntoOwned::<Set<i64>>::into_owned(viewed.set_of_numbers), node.set_of_numbers);
        prop_assert_eq!(IntoOwned::<BTreeMap<String, Vec<i32>>>::into_owned(viewed.table), node.table.clone());
        let pairs: Pairs<String, Vec<i32>> = viewed.table.into_owned();
        prop_assert!(pairs.0.into_iter().eq(node.table));
        prop_assert_eq!(IntoOwned::<Option<i32>>::into_owned(viewed.limit), node.limit);
    }
}

#[test]
fn bytes_that_are_forwarded_keep_fields_of_a_later_version() {
    // A list of one struct with an unknown field 99 of type i32.
    let bytes = [&[12, 0, 0, 0, 1][..], &[8, 0, 99, 0, 0, 0, 5], &[2, 0, 1, 1, 0]].concat();
    let viewed: Elements<'_, ()> = view_slice(&bytes).unwrap();
    assert_eq!(forwarded(&viewed), bytes);
    let pairs = [&[8, 12, 0, 0, 0, 1][..], &[0, 0, 0, 7], &[8, 0, 99, 0, 0, 0, 5, 0]].concat();
    let viewed: Entries<'_, i32, ()> = view_slice(&pairs).unwrap();
    assert_eq!(forwarded(&viewed), pairs);
    let decoded: Vec<Mixed> = decode_slice(&bytes).unwrap();
    assert_ne!(to_vec(&decoded).unwrap(), bytes);
}
