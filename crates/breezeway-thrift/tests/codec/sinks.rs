//! Targets of encoding.

use std::io::{self, IoSlice, Write};

use breezeway_idl_corpus::sample::{
    Mixed, MixedView, MixedWriter, MyTestWriter, Node, NodeView, NodeWriter,
};
use breezeway_thrift::{
    Chain, Encode, EncodeError, Output, Pool, Sink, decode_slice, encode_slice, to_vec, view_slice,
};

fn node(blob: usize) -> Node {
    Node { value: 7, blob: vec![1; blob], mixed: vec![Mixed::default(); 3], ..Node::default() }
}

#[test]
fn small_buffer_error_names_the_needed_size() {
    let node = node(100);
    let needed = node.size();
    for capacity in 0..needed {
        let mut buffer = vec![0xaa; needed];
        let full = EncodeError::Full { needed, capacity };
        assert_eq!(encode_slice(&node, &mut buffer[..capacity]), Err(full));
        assert!(buffer[capacity..].iter().all(|byte| *byte == 0xaa));
    }
    assert_eq!(encode_slice(&node, &mut vec![0; needed + 5]), Ok(needed));
}

#[test]
fn an_iterator_that_lies_about_its_length_costs_the_message() {
    struct Liar;
    impl Iterator for Liar {
        type Item = i64;
        fn next(&mut self) -> Option<i64> {
            None
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (3, Some(3))
        }
    }
    impl ExactSizeIterator for Liar {}
    let mut buffer = [0; 100];
    let mut output = Output::new(&mut buffer);
    MyTestWriter::new(&mut output).num(1).nums(Liar).end();
    assert_eq!(output.finish(), Err(EncodeError::Count { announced: 3, given: 0 }));
}

#[test]
fn a_large_binary_is_filled_where_it_will_be_sent_from() {
    let mut buffer = vec![0; 100_100];
    let mut output = Output::new(&mut buffer);
    let fill = |bytes: &mut [u8]| bytes.fill(9);
    NodeWriter::new(&mut output).value(1).blob_in_place(100_000, fill).end();
    let size = output.finish().unwrap();
    let view: NodeView<'_> = view_slice(&buffer[..size]).unwrap();
    assert_eq!(view.blob, [9; 100_000]);
}

#[test]
fn a_string_can_be_filled_in_place_and_is_checked_by_the_reader() {
    let write = |byte: u8| {
        let mut buffer = vec![0; 100];
        let mut output = Output::new(&mut buffer);
        MixedWriter::new(&mut output).name_in_place(5, |bytes| bytes.fill(byte)).end();
        let size = output.finish().unwrap();
        buffer.truncate(size);
        buffer
    };
    assert_eq!(view_slice::<MixedView<'_>>(&write(b'x')).unwrap().name, "xxxxx");
    view_slice::<MixedView<'_>>(&write(0xff)).unwrap_err();
}

#[test]
fn a_chain_sends_a_large_value_from_where_it_is() {
    let node = node(50_000);
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    node.encode(&mut chain);
    assert_eq!(chain.len(), node.size());
    let slices = chain.slices().unwrap();
    assert_eq!(slices.len(), 3);
    assert_eq!(slices[1].as_ptr(), node.blob.as_ptr());
    assert_eq!(slices[1].len(), 50_000);
}

#[test]
fn chain_copies_small_values() {
    let node = node(100);
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    node.encode(&mut chain);
    assert_eq!(chain.slices().unwrap().len(), 1);
}

#[test]
fn a_chain_takes_another_buffer_when_one_is_full() {
    let node = Node { mixed: vec![Mixed::default(); 500], ..Node::default() };
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    node.encode(&mut chain);
    let mut written = Vec::new();
    chain.write_to(&mut written).unwrap();
    assert_eq!(decode_slice::<Node>(&written).as_ref(), Ok(&node));
}

/// Takes at most seven bytes at a time, and is interrupted each second time.
struct Slow(Vec<u8>, bool);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let slice = slices.iter().find(|slice| !slice.is_empty()).map_or(&[][..], |slice| slice);
        let size = slice.len().min(7);
        self.0.extend_from_slice(&slice[..size]);
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_chain_survives_partial_and_interrupted_writes() {
    let node = node(6000);
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    node.encode(&mut chain);
    let mut slow = Slow(Vec::new(), false);
    chain.write_to(&mut slow).unwrap();
    assert_eq!(slow.0, to_vec(&node).unwrap());
}

#[test]
fn the_buffers_of_a_chain_are_used_again() {
    let node = node(100);
    let mut pool = Pool::new();
    let first_byte = |pool: &mut Pool| {
        let mut chain = Chain::new(pool);
        node.encode(&mut chain);
        chain.slices().unwrap()[0].as_ptr()
    };
    let first = first_byte(&mut pool);
    assert_eq!(first_byte(&mut pool), first);
}

#[test]
fn a_chain_with_an_error_is_not_sent() {
    let mut pool = Pool::new();
    let mut chain = Chain::new(&mut pool);
    chain.fail(EncodeError::TooLong(5));
    assert_eq!(chain.slices().unwrap_err(), EncodeError::TooLong(5));
    let error = chain.write_to(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn unfilled_space_is_zero() {
    let mut pool = Pool::new();
    let secret = NodeBytes { fill: 0x5e, filled: 3000 };
    assert_eq!(secret.sent(&mut pool).len(), 3000);
    let lazy = NodeBytes { fill: 1, filled: 10 };
    let sent = lazy.sent(&mut pool);
    assert_eq!((&sent[..10], sent.iter().filter(|byte| **byte == 0).count()), (&[1; 10][..], 2990));
}

/// A binary of 3,000 bytes, partly filled in place.
struct NodeBytes {
    fill: u8,
    filled: usize,
}

impl NodeBytes {
    /// Returns the binary as a socket receives it.
    fn sent(&self, pool: &mut Pool) -> Vec<u8> {
        let mut chain = Chain::new(pool);
        let fill = |to: &mut [u8]| to[..self.filled].fill(self.fill);
        NodeWriter::new(&mut chain).value(1).blob_in_place(3000, fill).end();
        let mut bytes = Vec::new();
        chain.write_to(&mut bytes).unwrap();
        view_slice::<NodeView<'_>>(&bytes).unwrap().blob.to_vec()
    }
}
