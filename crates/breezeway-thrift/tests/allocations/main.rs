//! Number and size of allocations.
#![allow(missing_docs, dead_code, unreachable_pub)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use breezeway_idl_corpus::sample::{Ano, Mixed, MyTest, MyTestWriter, Node, NodeView, Shape};
use breezeway_idl_corpus::wide::Wides;
use breezeway_thrift::{
    Decode, DecodeError, Encode, Fault, Limits, Output, Set, Slice, decode_slice, encode_slice,
    to_vec, view_slice,
};

thread_local! {
    /// Allocations of this thread, and their bytes.
    static TAKEN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

struct Counting;

// SAFETY: the system's allocator does all the work.
#[allow(unsafe_code, reason = "an allocator cannot be written without")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (count, bytes) = TAKEN.get();
        TAKEN.set((count + 1, bytes + layout.size()));
        // SAFETY: the caller of this function keeps the requirements of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller of this function keeps the requirements of `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the number of allocations and of bytes that `work` takes.
fn taken<R>(work: impl FnOnce() -> R) -> (usize, usize) {
    let before = TAKEN.get();
    std::hint::black_box(work());
    let after = TAKEN.get();
    (after.0 - before.0, after.1 - before.1)
}

fn mixed() -> Mixed {
    Mixed { name: "a name".to_owned(), numbers: vec![1, 2, 3], ..Mixed::default() }
}

/// A chain of `depth` nodes, each with lists of everything.
fn node(depth: usize) -> Node {
    Node {
        next_node: (depth > 0).then(|| Box::new(node(depth - 1))),
        children: vec![Node::default(), Node::default()],
        table: [("key".to_owned(), vec![1, 2, 3])].into(),
        set_of_numbers: Set(vec![1; 100]),
        blob: vec![1; 5000],
        mixed: vec![mixed(), mixed()],
        shape: Some(Shape::Name("shape".to_owned())),
        tags: Set(vec!["one".to_owned(), "two".to_owned()]),
        ..Node::default()
    }
}

#[test]
fn encoding_takes_no_memory() {
    let node = node(5);
    let mut buffer = vec![0; node.size()];
    assert_eq!(taken(|| node.size()).0, 0);
    assert_eq!(taken(|| encode_slice(&node, &mut buffer).unwrap()).0, 0);
}

#[test]
fn writers_take_no_memory() {
    let mut buffer = vec![0; 1000];
    let write = || {
        let mut output = Output::new(&mut buffer);
        MyTestWriter::new(&mut output).num(1).ano(|ano| ano.a(2)).nums([7; 50]).end();
        output.finish().unwrap()
    };
    assert_eq!(taken(write).0, 0);
}

#[test]
fn views_take_no_memory_however_deep() {
    for depth in [0, 1, 40] {
        let bytes = to_vec(&node(depth)).unwrap();
        assert_eq!(taken(|| view_slice::<NodeView<'_>>(&bytes).unwrap()).0, 0, "depth {depth}");
    }
}

#[test]
fn walking_a_view_takes_no_memory() {
    let bytes = to_vec(&node(3)).unwrap();
    let view: NodeView<'_> = view_slice(&bytes).unwrap();
    let walk = || {
        let mut node = view;
        while let Some(next) = node.next_node {
            assert_eq!(node.mixed.iter().map(|mixed| mixed.numbers.len()).sum::<usize>(), 6);
            assert_eq!(node.table.find(&"key").map(|list| list.len()), Some(3));
            node = next.get();
        }
    };
    assert_eq!(taken(walk).0, 0);
}

#[test]
fn an_owned_value_takes_one_allocation_for_each_string_and_list() {
    let bytes = to_vec(&MyTest { num: 1, ano: Ano { a: 2 }, nums: vec![1; 1000] }).unwrap();
    assert_eq!(taken(|| decode_slice::<MyTest>(&bytes).unwrap()), (1, 8000));
    let bytes = to_vec(&mixed()).unwrap();
    assert_eq!(taken(|| decode_slice::<Mixed>(&bytes).unwrap()), (2, 6 + 24));
}

#[test]
fn counts_that_cannot_be_true_take_no_memory() {
    // A list of i64, of structs, and a map, each of 2^31 - 1 elements.
    for bytes in [
        &b"\x0f\x00\x03\x0a\x7f\xff\xff\xff"[..],
        b"\x0f\x00\x07\x0c\x7f\xff\xff\xff",
        b"\x0d\x00\x04\x0b\x0f\x7f\xff\xff\xff",
        b"\x0b\x00\x06\x7f\xff\xff\xff",
    ] {
        assert_eq!(taken(|| decode_slice::<Node>(bytes).unwrap_err()).0, 0);
        assert_eq!(taken(|| view_slice::<NodeView<'_>>(bytes).unwrap_err()).0, 0);
        assert_eq!(taken(|| decode_slice::<MyTest>(bytes).unwrap_err()).0, 0);
    }
}

#[test]
fn plausible_count_allocates_in_proportion_to_message() {
    // As many nodes of at least 12 bytes as fit into the message by their count; the first one is
    // invalid.
    let mut bytes = b"\x0f\x00\x03\x0c\x00\x00\x40\x00".to_vec();
    bytes.resize(8 + 12 * 0x4000, 0);
    let (_, taken) = taken(|| decode_slice::<Node>(&bytes).unwrap_err());
    assert!(taken <= 4 * bytes.len() + 4096, "{taken} bytes for a message of {}", bytes.len());
}

#[test]
fn counts_nested_in_each_other_take_no_more_memory_than_one() {
    // Each list of nodes announces that all remaining bytes are nodes; its first node begins with
    // such a list again.
    let size = 1 << 20;
    let mut bytes = Vec::new();
    for _ in 0..31 {
        bytes.extend(b"\x0f\x00\x03\x0c");
        bytes.extend((((size - bytes.len() - 8) / 13) as u32).to_be_bytes());
    }
    bytes.resize(size, 0);
    let (_, taken) = taken(|| decode_slice::<Node>(&bytes).unwrap_err());
    assert!(
        taken <= 12 * bytes.len(),
        "{} times a message of {}",
        taken / bytes.len(),
        bytes.len()
    );
}

/// Returns a list of `count` structs without a field, each of one byte on the wire and 800 bytes of
/// memory.
fn empty_structs(count: u32) -> Vec<u8> {
    let mut bytes = vec![15, 0, 1, 12];
    bytes.extend(count.to_be_bytes());
    bytes.resize(8 + count as usize + 1, 0);
    bytes
}

#[test]
fn message_over_memory_limit_is_refused_unallocated() {
    let bytes = empty_structs(1 << 20);
    let mut refused = None;
    let (_, taken) = taken(|| refused = decode_slice::<Wides>(&bytes).err());
    let DecodeError { offset, fault } = refused.unwrap();
    let left = Limits::default().memory;
    let needed = (1 << 20) * size_of::<breezeway_idl_corpus::wide::Wide>() + 16;
    assert_eq!((offset, fault, taken), (8, Fault::Memory { needed, left }, 0));
    assert_eq!(decode_slice::<Wides>(&empty_structs(1000)).unwrap().wides.len(), 1000);
}

#[cfg(feature = "small-strings")]
#[test]
fn a_small_string_takes_memory_once_and_only_if_it_is_long() {
    use breezeway_thrift::{SmallString, decode_once};

    for (length, expected) in [(0, (0, 0)), (30, (0, 0)), (31, (1, 31)), (300, (1, 300))] {
        let bytes = to_vec(&"x".repeat(length)).unwrap();
        assert_eq!(taken(|| decode_slice::<SmallString>(&bytes).unwrap()), expected);
        assert_eq!(taken(|| decode_once::<SmallString>(&bytes).unwrap()), expected, "once");
    }
}

#[cfg(feature = "shared-bytes")]
#[test]
fn shared_parts_allocate_only_the_owner_count() {
    use breezeway_thrift::{Bytes, decode_shared};

    let message = Bytes::from(to_vec(&vec![vec![1_u8; 100_000]; 3]).unwrap());
    let list = 3 * size_of::<Bytes>();
    let (count, bytes) = taken(|| decode_shared::<Vec<Bytes>>(&message).unwrap());
    assert!(count == 2 && bytes <= list + 64, "{count} allocations of {bytes} bytes");
    let again = taken(|| decode_shared::<Vec<Bytes>>(&message).unwrap());
    assert_eq!(again, (1, list), "the message has owners already");
    assert_eq!(taken(|| decode_slice::<Vec<Bytes>>(&message).unwrap()), (4, list + 300_000));
}

/// Decodes with a limit.
fn within<T: Decode>(memory: usize, bytes: &[u8]) -> Result<T, DecodeError> {
    T::decode(&mut Slice::within(Limits { memory, ..Limits::default() }, bytes).unwrap())
}

#[test]
fn counted_memory_is_close_to_allocated() {
    let small = |index: i32| Node {
        table: [(index.to_string(), vec![index])].into(),
        tags: Set(vec!["a".to_owned(), String::new()]),
        next_node: Some(Box::default()),
        mixed: vec![mixed()],
        ..Node::default()
    };
    let many = Node { children: (0..100).map(small).collect(), ..Node::default() };
    let wide = Node {
        table: (0..1000).map(|index| (index.to_string(), vec![index; 10])).collect(),
        blob: vec![0; 1 << 20],
        ..Node::default()
    };
    for value in [many, wide, node(20)] {
        let bytes = to_vec(&value).unwrap();
        // The least limit that lets it pass, by halving.
        let (mut least, mut step) = (1 << 30, 1 << 29);
        while step > 0 {
            if within::<Node>(least - step, &bytes).is_ok() {
                least -= step;
            }
            step /= 2;
        }
        let (_, taken) = taken(|| within::<Node>(least, &bytes).unwrap());
        assert!(taken <= 2 * least && least <= 2 * taken, "{least} counted, {taken} taken");
    }
}
