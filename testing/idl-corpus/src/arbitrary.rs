//! Values of the sample's types, of any content.

use breezeway_thrift::{Pairs, Set};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::sample::{Ano, Color, Mixed, Node, Shape};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{0,40}", "\\PC{0,12}"]
}

fn double() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits)
}

prop_compose! {
    /// Small fields of many kinds.
    pub fn mixed()(
        flag: bool,
        count: i32,
        stamp: i64,
        ratio in double(),
        name in text(),
        numbers in vec(any::<i64>(), 0..20),
    ) -> Mixed {
        Mixed { flag, count, stamp, ratio, name, numbers }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        any::<i64>().prop_map(Shape::Side),
        text().prop_map(Shape::Name),
        any::<i64>().prop_map(|a| Shape::Ano(Ano { a })),
    ]
}

prop_compose! {
    fn flat_node()(
        value: i64,
        table in btree_map(text(), vec(any::<i32>(), 0..9), 0..4),
        set_of_numbers in vec(any::<i64>(), 0..9),
        blob in vec(any::<u8>(), 0..50),
        mixed in vec(mixed(), 0..3),
        shape in proptest::option::of(shape()),
        colors in vec(0..4, 0..12),
        limit: Option<i32>,
        tags in vec(text(), 0..4),
        by_number in vec((double(), any::<i64>()), 0..4),
    ) -> Node {
        Node {
            value,
            table,
            set_of_numbers: Set(set_of_numbers),
            blob,
            mixed,
            shape,
            colors: colors.into_iter().map(Color).collect(),
            limit,
            tags: Set(tags),
            by_number: Pairs(by_number.into_iter().map(|(key, a)| (key, Ano { a })).collect()),
            ..Node::default()
        }
    }
}

/// Nodes in nodes.
pub fn node() -> impl Strategy<Value = Node> {
    flat_node().prop_recursive(3, 8, 3, |inner| {
        (flat_node(), proptest::option::of(inner.clone()), vec(inner, 0..3)).prop_map(
            |(node, next, children)| Node { next_node: next.map(Box::new), children, ..node },
        )
    })
}
