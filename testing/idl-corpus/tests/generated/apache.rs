//! Old IDL means what it means to Apache's compiler.

use breezeway_idl_corpus::apache::{
    ChildSumArgs, Commented, Flags, Lenient, LenientView, Needs, Nonpositive, Unnumbered, holds,
    needs,
};
use breezeway_thrift::{Call, Fault, decode_slice, to_vec, view_slice};

#[test]
fn fields_without_a_number_count_down_from_minus_one() {
    let value = Unnumbered { first: "a".to_owned(), second: 2, third: true, fourth: None };
    let bytes = [8, 0xff, 0xfe, 0, 0, 0, 2, 11, 0xff, 0xff, 0, 0, 0, 1, b'a', 2, 0, 5, 1, 0];
    assert_eq!(to_vec(&value).unwrap(), bytes);
    assert_eq!(decode_slice::<Unnumbered>(&bytes), Ok(value));
    let missing = Fault::Missing { id: -2, name: "second" };
    assert_eq!(decode_slice::<Unnumbered>(&[0]).unwrap_err().fault, missing);
    let numbers = Nonpositive { zero: 1, negative: 2, three: 3 };
    let bytes = to_vec(&numbers).unwrap();
    assert_eq!(
        (&bytes[..7], &bytes[7..10]),
        (&[8, 0xff, 0xfe, 0, 0, 0, 2][..], &[8, 0xff, 0xff][..])
    );
    let arguments = to_vec(&ChildSumArgs { left: 1, right: 2 }).unwrap();
    assert_eq!(arguments, [8, 0xff, 0xfe, 0, 0, 0, 2, 8, 0xff, 0xff, 0, 0, 0, 1, 0]);
    assert_eq!(ChildSumArgs::METHOD, "sum");
}

#[test]
fn comments_stand_anywhere() {
    assert_eq!(Commented::default().value, 5);
    assert_eq!((Flags::NONE.0, Flags::ONE, Flags::TWO.0), (0, Flags::UNO, 2));
}

#[test]
fn required_field_missing_in_a_constant_has_its_types_default() {
    assert_eq!(needs(), Needs::default());
    assert_eq!(holds().needs, Needs { number: 7, ..Needs::default() });
    assert_eq!(holds().others, Needs { names: vec!["a".to_owned()], ..Needs::default() });
    let many = Lenient::default().many;
    assert_eq!(many, [Needs::default(), Needs { number: 1, ..Needs::default() }]);
    // The view's default is read from its encoding, which must have all that is required.
    let viewed = view_slice::<LenientView<'_>>(&[0]).unwrap();
    let numbers: Vec<_> =
        viewed.many.iter().map(|needs| (needs.number, needs.names.len())).collect();
    assert_eq!(numbers, [(0, 0), (1, 0)]);
}

#[test]
fn enum_value_missing_in_the_named_enum_is_the_types() {
    assert_eq!(Lenient::default().flag, Flags::TWO);
}
