//! All ways to write give the same bytes, all ways to read the same value.

use breezeway_idl_corpus::arbitrary::node;
use breezeway_idl_corpus::sample::{
    Mixed, MixedWriter, Node, NodeView, NodeWriter, Shape, ShapeWriter,
};
use breezeway_thrift::{
    Chain, Encode, IntoOwned, Output, Pool, Sink, Slice, WireType, decode_once, decode_slice, skip,
    to_vec, view_slice,
};
use proptest::prelude::*;

/// A node written with writers.
fn write<'a, 'w, S: Sink<'a>>(node: &'a Node, to: NodeWriter<'w, S>) -> NodeWriter<'w, S> {
    let mut to = to.value(node.value);
    if let Some(next) = &node.next_node {
        to = to.next_node(|to| write(next, to));
    }
    to = to
        .children(&node.children, |to, child| write(child, to))
        .table(&node.table)
        .set_of_numbers(node.set_of_numbers.iter().copied())
        .blob_in_place(node.blob.len(), |bytes| bytes.copy_from_slice(&node.blob))
        .mixed(&node.mixed, |to, mixed| write_mixed(mixed, to));
    if let Some(shape) = &node.shape {
        to = to.shape(|to| write_shape(shape, to));
    }
    to = to.colors(node.colors.iter().copied());
    if let Some(limit) = node.limit {
        to = to.limit(limit);
    }
    to.tags(&node.tags).by_number(&node.by_number)
}

fn write_mixed<'a, 'w, S: Sink<'a>>(
    mixed: &'a Mixed,
    to: MixedWriter<'w, S>,
) -> MixedWriter<'w, S> {
    to.flag(mixed.flag)
        .count(mixed.count)
        .stamp(mixed.stamp)
        .ratio(mixed.ratio)
        .name(&mixed.name)
        .numbers(mixed.numbers.iter().copied())
}

fn write_shape<'a, 'w, S: Sink<'a>>(
    shape: &'a Shape,
    to: ShapeWriter<'w, S>,
) -> ShapeWriter<'w, S> {
    match shape {
        Shape::Unset => to,
        Shape::Side(side) => to.side(*side),
        Shape::Name(name) => to.name(name),
        Shape::Ano(ano) => to.ano(|to| to.a(ano.a)),
    }
}

/// Reads `bytes` in every way. All accept or all refuse, and what they read is the same.
fn assert_readers_agree(bytes: &[u8]) {
    let owned = decode_slice::<Node>(bytes);
    let once = decode_once::<Node>(bytes);
    let viewed = view_slice::<NodeView<'_>>(bytes);
    assert_eq!(owned.is_ok(), once.is_ok(), "{owned:?} {once:?}");
    assert_eq!(owned.is_ok(), viewed.is_ok(), "{owned:?} {viewed:?}");
    let (Ok(owned), Ok(once), Ok(viewed)) = (owned, once, viewed) else { return };
    let written = to_vec(&owned).unwrap();
    assert_eq!(to_vec(&once).unwrap(), written);
    assert_eq!(to_vec::<Node>(&viewed.into_owned()).unwrap(), written);
    let mut from = Slice::new(bytes).unwrap();
    skip(WireType::Struct, &mut from).unwrap();
    assert_eq!(from.end(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn written_value_is_read_back(node in node()) {
        let bytes = to_vec(&node).unwrap();
        prop_assert_eq!(node.size(), bytes.len());
        let read: Node = decode_slice(&bytes).unwrap();
        prop_assert_eq!(to_vec(&read).unwrap(), bytes.as_slice());
        assert_readers_agree(&bytes);
    }

    #[test]
    fn writers_give_the_bytes_of_values(node in node()) {
        let bytes = to_vec(&node).unwrap();
        let mut buffer = vec![0; bytes.len()];
        let mut output = Output::new(&mut buffer);
        write(&node, NodeWriter::new(&mut output)).end();
        prop_assert_eq!(output.finish(), Ok(bytes.len()));
        prop_assert_eq!(buffer, bytes);
    }

    #[test]
    fn chains_give_the_bytes_of_values(node in node()) {
        let mut pool = Pool::new();
        let mut chain = Chain::new(&mut pool);
        node.encode(&mut chain);
        let mut written = Vec::new();
        chain.write_to(&mut written).unwrap();
        prop_assert_eq!(written, to_vec(&node).unwrap());
    }

    #[test]
    fn readers_agree_on_changed_bytes(
        node in node(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = to_vec(&node).unwrap();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        assert_readers_agree(&bytes);
    }

    #[test]
    fn readers_agree_on_any_bytes(bytes in proptest::collection::vec(0..16u8, 0..60)) {
        assert_readers_agree(&bytes);
    }
}
