//! What the options of `Builder` change: derived traits, the runtime's path, and types that another
//! crate has.

/// The runtime by another path, as a crate that exports it again has it.
mod runtime {
    pub(crate) use breezeway_thrift::*;
}

#[allow(dead_code, reason = "the test uses a part of it")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/options.rs"));
}

use std::collections::{BTreeSet, HashSet};

use breezeway_idl_corpus::acme::common::{Page, PageView};
use breezeway_thrift::{decode_slice, to_vec, view_slice};
use generated::options::{Either, Key, Level, Report, ReportView, ReportWriter};

#[test]
fn a_value_of_an_enum_tells_the_first_name_of_its_number() {
    assert_eq!(Level::LOW.name(), Some("LOW"));
    assert_eq!(Level::MOST.name(), Some("HIGH"));
    assert_eq!(Level::TYPE.name(), Some("type"));
    assert_eq!(Level(3).name(), None);
}

#[test]
fn what_has_no_double_can_be_ordered_and_hashed() {
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
