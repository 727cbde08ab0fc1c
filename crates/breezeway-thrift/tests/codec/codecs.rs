//! One trait for Thrift and Protobuf.

use breezeway_idl_corpus::sample::{Ano, MyTest};
use breezeway_thrift::{Binary, Codec, EncodeError, Protobuf};

#[derive(Clone, PartialEq, prost::Message)]
struct Point {
    #[prost(int64, tag = "1")]
    x: i64,
    #[prost(string, tag = "2")]
    label: String,
}

fn round_trip<C: Codec<T>, T: PartialEq + std::fmt::Debug>(message: &T) {
    let size = C::size(message);
    let mut buffer = vec![0; size];
    assert_eq!(C::encode(message, &mut buffer), Ok(size));
    assert_eq!(&C::decode(&buffer).unwrap(), message);
    let full = EncodeError::Full { needed: size, capacity: size - 1 };
    assert_eq!(C::encode(message, &mut buffer[1..]), Err(full));
    assert!(C::decode(&buffer[..size - 1]).is_err());
}

#[test]
fn messages_are_encoded_into_space_of_their_size() {
    round_trip::<Binary, _>(&MyTest { num: 1, ano: Ano { a: 2 }, nums: vec![3] });
    round_trip::<Protobuf, _>(&Point { x: 5, label: "label".to_owned() });
}
