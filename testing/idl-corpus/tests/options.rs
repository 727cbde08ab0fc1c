//! The effects of the options of `Builder`: derived traits, serde's among them, the runtime's path,
//! and types of another crate.

/// The runtime by another path, as a crate that exports it again has it.
mod runtime {
    pub(crate) use breezeway_thrift::*;
}

#[allow(dead_code, reason = "the test uses a part of it")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/options.rs"));
}

#[allow(dead_code, reason = "the test uses a part of it")]
mod with_serde {
    include!(concat!(env!("OUT_DIR"), "/serde.rs"));
}

use std::collections::{BTreeSet, HashSet};

use breezeway_idl_corpus::acme::common::{Page, PageView};
use breezeway_thrift::{Pairs, Set};
use breezeway_thrift::{decode_slice, to_vec, view_slice};
use generated::options::{Either, Key, Level, Report, ReportView, ReportWriter};
use with_serde::defaults::{Defaults, Mode, RequiredDefaults};
use with_serde::keywords::{Fields, Impl, Keyword, Loop};
use with_serde::sample::{Ano, Node, Shape};

#[test]
fn enum_value_has_first_name_of_its_number() {
    assert_eq!(Level::LOW.name(), Some("LOW"));
    assert_eq!(Level::MOST.name(), Some("HIGH"));
    assert_eq!(Level::TYPE.name(), Some("type"));
    assert_eq!(Level(3).name(), None);
}

#[test]
fn types_without_doubles_are_ordered_and_hashed() {
    let key = |name: &str| Key { name: name.to_owned(), ..Key::default() };
    let ordered: BTreeSet<_> = [key("b"), key("a"), key("b")].into();
    assert_eq!(ordered.into_iter().map(|key| key.name).collect::<String>(), "ab");
    let hashed: HashSet<_> = [Either::Number(1), Either::Bytes(vec![1]), Either::Number(1)].into();
    assert_eq!(hashed.len(), 2);
}

#[test]
fn types_of_another_crate_are_used_as_if_they_were_here() {
    let page = Page { offset: 1, limit: 2 };
    let report = Report { pages: vec![page.clone()], at: 9, ..Report::default() };
    assert_eq!(report.page.limit, 5);
    let bytes = to_vec(&report).unwrap();
    assert_eq!(decode_slice::<Report>(&bytes), Ok(report));
    let viewed = view_slice::<ReportView<'_>>(&bytes).unwrap();
    assert_eq!(viewed.pages.iter().next(), Some(PageView { offset: 1, limit: 2 }));
    let mut buffer = [0; 256];
    let mut output = breezeway_thrift::Output::new(&mut buffer);
    ReportWriter::new(&mut output).page(|writer| writer.offset(3)).end();
    let size = output.finish().unwrap();
    assert_eq!(decode_slice::<Report>(&buffer[..size]).unwrap().page.offset, 3);
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn serde_writes_the_names_of_the_idl_and_reads_them_again() {
    let node = Node {
        value: 7,
        next_node: Some(Box::new(Node::default())),
        table: [("a".to_owned(), vec![1, 2])].into(),
        set_of_numbers: Set(vec![3, 3]),
        shape: Some(Shape::Ano(Ano { a: 5 })),
        by_number: Pairs(vec![(0.5, Ano { a: 6 })]),
        ..Node::default()
    };
    let text = serde_json::to_string(&node).unwrap();
    assert_eq!(serde_json::from_str::<Node>(&text).unwrap(), node);
    let shown = json(&node);
    assert_eq!(shown["set_of_numbers"], serde_json::json!([3, 3]));
    assert_eq!(shown["shape"], serde_json::json!({"ano": {"a": 5}}));
    assert_eq!(shown["by_number"], serde_json::json!([[0.5, {"a": 6}]]));
    let fields = Fields { self_: 1, r#type: "t".to_owned(), ..Fields::default() };
    assert_eq!((&json(&fields)["self"], &json(&fields)["type"]), (&1.into(), &"t".into()));
    assert_eq!(json(&Impl { r#let: Some(Keyword(9)), ..Impl::default() })["let"], 9);
    assert_eq!(json(&Loop::For("each".to_owned())), serde_json::json!({"for": "each"}));
    assert_eq!(json(&Loop::Unset), "Unset");
}

#[test]
fn fields_missing_for_serde_have_idl_defaults() {
    let some: Defaults = serde_json::from_str(r#"{"large": 1, "mode": 77}"#).unwrap();
    assert_eq!(some, Defaults { large: 1, mode: Mode(77), ..Defaults::default() });
    let none: RequiredDefaults = serde_json::from_str("{}").unwrap();
    assert_eq!(none, RequiredDefaults::default());
    assert!(serde_json::from_str::<Defaults>(r#"{"large": "much"}"#).is_err());
    assert!(serde_json::from_str::<Shape>(r#"{"circle": 1}"#).is_err());
}
