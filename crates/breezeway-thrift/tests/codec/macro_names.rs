//! The macros work where names of the standard library mean something else, as they may in
//! generated modules.

mod hostile_names {
    pub struct Vec;
    pub struct Result;
    pub struct Option;
    pub struct Ok;
    pub struct Some;
    pub trait From {}
    pub struct Fixed;
    pub struct Sink;
    pub struct Source;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Kind(pub i32);

    breezeway_thrift::open_enum!(Kind);
}

use breezeway_thrift::{Pairs, decode_slice, preset, to_vec, view_slice};
use hostile_names::Kind;

#[test]
fn an_enum_is_a_number() {
    assert_eq!(to_vec(&Kind(7)).unwrap(), [0, 0, 0, 7]);
    assert_eq!(
        decode_slice::<std::vec::Vec<Kind>>(&[8, 0, 0, 0, 1, 0, 0, 0, 9]),
        Ok(vec![Kind(9)])
    );
    assert_eq!(i32::from(Kind::from(4)), 4);
}

#[test]
fn the_empty_struct_is_one_byte_and_reads_past_any_field() {
    assert_eq!(to_vec(&()).unwrap(), [0]);
    assert_eq!(decode_slice::<()>(&[8, 0, 1, 0, 0, 0, 5, 2, 0, 2, 1, 0]), Ok(()));
    assert_eq!(view_slice::<()>(&[0]), Ok(()));
    decode_slice::<()>(&[5, 0, 1, 0]).unwrap_err();
}

#[test]
fn a_preset_is_the_value_of_its_bytes() {
    assert_eq!(preset::<&str>(&[0, 0, 0, 2, b'h', b'i']), "hi");
    assert_eq!(preset::<&str>(&[0, 0, 0, 9]), "");
}

#[test]
fn pairs_print_as_a_map() {
    assert_eq!(format!("{:?}", Pairs(vec![(1, "a"), (1, "b")])), r#"{1: "a", 1: "b"}"#);
}
