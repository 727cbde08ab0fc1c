//! Types that have the names of Rust's prelude: alone, together, and after case conversion.
#![deny(warnings)]

#[allow(dead_code, reason = "that it compiles without a warning is most of the test")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/prelude.rs"));
}

use breezeway_thrift::{decode_slice, to_vec, view_slice};
use generated::alone::none::{Fault, Inner, InnerView, None};
use generated::converted::values;

#[test]
fn struct_beside_an_enum_called_none_travels_as_any_other() {
    let inner = Inner { a: 2, b: Some(Inner::default().into()), ..Inner::default() };
    let bytes = to_vec(&inner).unwrap();
    assert_eq!(decode_slice::<Inner>(&bytes).unwrap(), inner);
    assert_eq!(view_slice::<InnerView<'_>>(&bytes).unwrap().a, 2);
    assert_eq!(inner.b.unwrap().b, Option::None);
    assert_eq!((None::SOME.name(), None(7).name()), (Some("Some"), Option::None));
    assert_eq!(Fault { message: Some("why".to_owned()) }.to_string(), "why");
}

#[test]
fn values_called_as_prelude_items_have_their_values() {
    assert_eq!((values::NONE, values::SOME), (1, 1));
    assert_eq!(values::drop(), [values::Inner::default()]);
    let some = values::OfSome { some: Option::None, some_2: 2 };
    assert_eq!(values::OfSome::default(), some);
}
