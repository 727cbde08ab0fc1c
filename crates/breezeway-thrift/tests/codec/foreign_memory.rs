//! Messages in memory that another process may be writing become values of their own.

use std::io::{self, Read};

use breezeway_idl_corpus::sample::{Mixed, Node};
use breezeway_shm::ForeignBytes;
use breezeway_thrift::{Set, decode_once, to_vec};

fn node() -> Node {
    let mixed = Mixed { name: "n".repeat(300), numbers: (0..900).collect(), ..Mixed::default() };
    Node {
        value: 3,
        mixed: vec![mixed; 4],
        blob: vec![5; 3000],
        tags: Set((0..200).map(|index| index.to_string()).collect()),
        ..Node::default()
    }
}

#[test]
fn a_received_body_is_decoded() {
    let bytes = to_vec(&node()).unwrap();
    let body = ForeignBytes::stable(&bytes);
    assert_eq!(decode_once::<Node>((body.reader(), body.len())), Ok(node()));
}

/// Gives every byte once, then changes it.
struct Spoiling<'a>(&'a mut [u8]);

impl Read for Spoiling<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let size = to.len().min(self.0.len()).min(100);
        let (read, rest) = std::mem::take(&mut self.0).split_at_mut(size);
        to[..size].copy_from_slice(read);
        read.fill(0xff);
        self.0 = rest;
        Ok(size)
    }
}

#[test]
fn every_byte_is_read_once() {
    let mut bytes = to_vec(&node()).unwrap();
    let len = bytes.len();
    assert_eq!(decode_once::<Node>((Spoiling(&mut bytes), len)), Ok(node()));
    assert!(bytes.iter().all(|byte| *byte == 0xff));
}
