//! A union without a value is left out where that is allowed, and an error elsewhere.

use breezeway_idl_corpus::unions::{
    Choice, ChoicesChooseArgs, ChoicesChooseReply, Many, Optional, Plain, PlainView, Required,
};
use breezeway_thrift::{Encode, EncodeError, Pool, Set, decode_slice, to_vec, view_slice};

const EMPTY: EncodeError = EncodeError::EmptyUnion("Choice");

#[test]
fn fields_that_may_be_absent_leave_it_out() {
    let after = [8, 0, 2, 0, 0, 0, 5, 0];
    let plain = Plain { choice: Choice::Unset, after: 5 };
    assert_eq!((to_vec(&plain).unwrap(), plain.size()), (after.to_vec(), after.len()));
    assert_eq!(decode_slice::<Plain>(&after), Ok(plain));
    assert_eq!(view_slice::<PlainView<'_>>(&after).unwrap().after, 5);
    let optional = Optional { choice: Some(Choice::Unset), after: 5 };
    assert_eq!(to_vec(&optional).unwrap(), after);
    assert_eq!(decode_slice::<Optional>(&after), Ok(Optional { choice: None, after: 5 }));
    assert_eq!(to_vec(&ChoicesChooseArgs { choice: Choice::Unset }).unwrap(), [0]);
    let inside = Choice::Other(Box::new(Choice::Unset));
    assert_eq!(to_vec(&Plain { choice: inside, after: 5 }), Err(EMPTY));
}

#[test]
fn where_a_value_must_be_it_is_an_error() {
    assert_eq!(to_vec(&Choice::Unset), Err(EMPTY));
    assert_eq!(to_vec(&Required::default()), Err(EMPTY));
    assert_eq!(to_vec(&Many { choices: vec![Choice::Unset], ..Many::default() }), Err(EMPTY));
    let named = [("name".to_owned(), Choice::Unset)].into();
    assert_eq!(to_vec(&Many { named, ..Many::default() }), Err(EMPTY));
    assert_eq!(to_vec(&Many { set_of: Set(vec![Choice::Unset]), ..Many::default() }), Err(EMPTY));
    let mut pool = Pool::new();
    let mut chain = breezeway_thrift::Chain::new(&mut pool);
    Choice::Unset.encode(&mut chain);
    assert_eq!(chain.slices().unwrap_err(), EMPTY);
}

#[test]
fn reply_without_a_field_is_a_void_reply() {
    assert_eq!(to_vec(&ChoicesChooseReply::Unset).unwrap(), [0]);
}
