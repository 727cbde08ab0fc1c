//! What one generator's types write, the other's read as the same values.

use std::path::Path;

use breezeway_idl::model::Schema;
use breezeway_idl_corpus::dice::Dice;
use breezeway_idl_corpus::messages::Messages;
use breezeway_thrift::{decode_slice, to_vec};
use pilota::thrift::Message;
use pilota::thrift::binary::TBinaryProtocol;
use pilota::{Bytes, BytesMut};

/// One struct: its message through our type, and through theirs.
struct Case {
    file: &'static str,
    name: &'static str,
    ours: fn(&[u8]) -> Vec<u8>,
    theirs: fn(&[u8]) -> Vec<u8>,
}

macro_rules! case {
    ($file:literal, $name:literal, $ours:ty, $theirs:ty) => {
        Case {
            file: $file,
            name: $name,
            ours: |bytes| to_vec(&decode_slice::<$ours>(bytes).unwrap()).unwrap(),
            theirs: through_pilota::<$theirs>,
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/cases.rs"));

fn through_pilota<T: Message>(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::copy_from_slice(bytes);
    let value = T::decode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap();
    let mut written = BytesMut::new();
    value.encode(&mut TBinaryProtocol::new(&mut written, false)).unwrap();
    written.to_vec()
}

fn schema() -> Schema {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../crates/breezeway-idl/tests/corpus");
    let files = include!("../files.rs").map(|name| corpus.join(name).with_extension("thrift"));
    breezeway_idl::read(&files, &[]).unwrap()
}

#[test]
fn messages_mean_the_same_to_both() {
    let schema = schema();
    let mut messages = Messages { schema: &schema, dice: Dice(7), tame: true };
    for case in CASES {
        let id = schema.find_struct(&format!("{}.{}", case.file, case.name)).unwrap();
        for _ in 0..50 {
            let message = messages.message(id, 5);
            // A hash map's order is its own: our maps put it right again.
            let there_and_back = (case.ours)(&(case.theirs)(&(case.ours)(&message)));
            assert_eq!(there_and_back, message, "{}.{}", case.file, case.name);
        }
    }
}
