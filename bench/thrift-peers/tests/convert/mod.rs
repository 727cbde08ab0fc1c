//! Values of crate thrift's types made of ours.

use breezeway_thrift::{Pairs, Set};
use thrift::OrderedFloat;

use crate::generated::apache;
use breezeway_idl_corpus::sample::{Ano, Mixed, Node, Shape};

/// Returns the node in the form that every implementation writes: sets and maps in order without
/// repetitions.
pub fn comparable(mut node: Node) -> Node {
    sort(&mut node.set_of_numbers);
    sort(&mut node.tags);
    let pairs = std::mem::take(&mut node.by_number).0.into_iter();
    let pairs = pairs.filter(|(key, _)| !key.is_nan() && *key != 0.0);
    let by_number: std::collections::BTreeMap<OrderedFloat<f64>, Ano> =
        pairs.map(|(key, ano)| (OrderedFloat(key), ano)).collect();
    node.by_number = Pairs(by_number.into_iter().map(|(key, ano)| (key.0, ano)).collect());
    node.next_node = node.next_node.map(|next| Box::new(comparable(*next)));
    node.children = node.children.into_iter().map(comparable).collect();
    node
}

/// Returns the node as every implementation reads it: sets without repetitions, the last value of
/// equal keys, none for a union without a value. Nothing is left out of it.
pub fn canonical(mut node: Node) -> Node {
    sort(&mut node.set_of_numbers);
    sort(&mut node.tags);
    let pairs = std::mem::take(&mut node.by_number).0.into_iter();
    // Keys that are equal are the same bits: one NaN, one zero.
    let key = |key: f64| if key.is_nan() { f64::NAN } else { key + 0.0 };
    let by_number: std::collections::BTreeMap<OrderedFloat<f64>, Ano> =
        pairs.map(|(number, ano)| (OrderedFloat(key(number)), ano)).collect();
    node.by_number = Pairs(by_number.into_iter().map(|(key, ano)| (key.0, ano)).collect());
    node.shape = node.shape.filter(|shape| *shape != Shape::Unset);
    node.next_node = node.next_node.map(|next| Box::new(canonical(*next)));
    node.children = node.children.into_iter().map(canonical).collect();
    node
}

fn sort<T: Ord>(set: &mut Set<T>) {
    set.0.sort();
    set.0.dedup();
}

/// Returns true if there is a union without a field anywhere: crate thrift has none.
pub fn has_unset_shape(node: &Node) -> bool {
    node.shape == Some(Shape::Unset)
        || node.next_node.as_ref().is_some_and(|next| has_unset_shape(next))
        || node.children.iter().any(has_unset_shape)
}

fn ano(ano: &Ano) -> apache::Ano {
    apache::Ano { a: Some(ano.a) }
}

fn mixed(mixed: &Mixed) -> apache::Mixed {
    apache::Mixed {
        flag: Some(mixed.flag),
        count: Some(mixed.count),
        stamp: Some(mixed.stamp),
        ratio: Some(OrderedFloat(mixed.ratio)),
        name: Some(mixed.name.clone()),
        numbers: Some(mixed.numbers.clone()),
    }
}

fn shape(shape: &Shape) -> Option<apache::Shape> {
    Some(match shape {
        Shape::Unset => return None,
        Shape::Side(side) => apache::Shape::Side(*side),
        Shape::Name(name) => apache::Shape::Name(name.clone()),
        Shape::Ano(value) => apache::Shape::Ano(ano(value)),
    })
}

/// Returns the same node in crate thrift's type.
pub fn to_apache(node: &Node) -> apache::Node {
    apache::Node {
        value: node.value,
        next_node: node.next_node.as_ref().map(|next| Box::new(to_apache(next))),
        children: Some(node.children.iter().map(|child| Box::new(to_apache(child))).collect()),
        table: Some(node.table.clone()),
        set_of_numbers: Some(node.set_of_numbers.iter().copied().collect()),
        blob: Some(node.blob.clone()),
        mixed: Some(node.mixed.iter().map(mixed).collect()),
        shape: node.shape.as_ref().and_then(shape),
        colors: Some(node.colors.iter().map(|color| apache::Color(color.0)).collect()),
        limit: node.limit,
        tags: Some(node.tags.iter().cloned().collect()),
        by_number: Some(
            node.by_number.iter().map(|(key, value)| (OrderedFloat(*key), ano(value))).collect(),
        ),
    }
}
