//! The same values as crate thrift and pilota write and read them.

mod convert;
#[allow(warnings, clippy::all, reason = "another generator's text")]
mod generated;

use std::panic::catch_unwind;

use ::pilota::Bytes;
use ::pilota::thrift::Message;
use ::pilota::thrift::binary::TBinaryProtocol;
use breezeway_idl_corpus::arbitrary;
use breezeway_idl_corpus::sample::{Node, NodeView, Shape};
use breezeway_thrift::{
    ApplicationException, ExceptionKind, MessageHeader, MessageKind, decode_slice, message_to_vec,
    to_vec, view_slice,
};
use convert::comparable;
use generated::apache;
use proptest::prelude::*;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol, TMessageIdentifier, TMessageType,
    TOutputProtocol, TSerializable,
};
use thrift_peers::generated::sample_pilota as pilota;

fn apache_bytes(node: &apache::Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    node.write_to_out_protocol(&mut TBinaryOutputProtocol::new(&mut bytes, true)).unwrap();
    bytes
}

fn apache_node(bytes: &[u8]) -> thrift::Result<apache::Node> {
    apache::Node::read_from_in_protocol(&mut TBinaryInputProtocol::new(bytes, true))
}

fn pilota_bytes(node: &pilota::Node) -> Vec<u8> {
    let mut bytes = ::pilota::BytesMut::new();
    node.encode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap();
    bytes.to_vec()
}

fn pilota_node(bytes: &[u8]) -> pilota::Node {
    let mut bytes = Bytes::copy_from_slice(bytes);
    pilota::Node::decode(&mut TBinaryProtocol::new(&mut bytes, false)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn crate_thrift_writes_the_same_bytes(node in arbitrary::node()) {
        let node = comparable(node);
        let bytes = to_vec(&node).unwrap();
        prop_assert_eq!(apache_bytes(&convert::to_apache(&node)), bytes.as_slice());
        prop_assert_eq!(apache_node(&bytes).unwrap(), convert::to_apache(&node));
    }

    /// Which theirs cannot: they have no such value.
    #[test]
    fn a_union_without_a_value_is_left_out_as_theirs_leave_out_none(node in arbitrary::node()) {
        let mut node = comparable(node);
        node.shape = Some(Shape::Unset);
        let bytes = to_vec(&node).unwrap();
        prop_assert_eq!(apache_bytes(&convert::to_apache(&node)), bytes.as_slice());
        prop_assert_eq!(pilota_bytes(&pilota_node(&bytes)).len(), bytes.len());
    }

    #[test]
    fn pilota_reads_and_writes_the_same_values(node in arbitrary::node()) {
        let node = comparable(node);
        let bytes = to_vec(&node).unwrap();
        let theirs = pilota_bytes(&pilota_node(&bytes));
        prop_assert_eq!(theirs.len(), bytes.len());
        let read: Node = decode_slice(&theirs).unwrap();
        prop_assert_eq!(to_vec(&comparable(read)).unwrap(), bytes.as_slice());
        let viewed: NodeView<'_> = view_slice(&theirs).unwrap();
        prop_assert_eq!(to_vec(&comparable(viewed.into())).unwrap(), bytes);
    }

    /// Changed content is the same to both.
    #[test]
    fn crate_thrift_reads_changed_bytes_as_the_same(
        node in arbitrary::node(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = to_vec(&comparable(node)).unwrap();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let Ok(ours) = decode_slice::<Node>(&bytes) else { return Ok(()) };
        if convert::has_unset_shape(&ours) {
            // We read a union of a later version; their code refuses it, or panics.
            prop_assert!(!matches!(catch_unwind(|| apache_node(&bytes)), Ok(Ok(_))));
            return Ok(());
        }
        // A known field of another type they read as if it were of its own: compare what holds all
        // that the bytes say.
        if to_vec(&ours).unwrap() != bytes {
            return Ok(());
        }
        let Ok(theirs) = apache_node(&bytes) else { return Ok(()) };
        let theirs = decode_slice::<Node>(&apache_bytes(&theirs)).unwrap();
        prop_assert_eq!(to_vec(&comparable(ours)).unwrap(), to_vec(&comparable(theirs)).unwrap());
    }

    #[test]
    fn crate_thrift_writes_and_reads_the_same_message_headers(
        kind in 1..5u8,
        name in "\\PC{0,20}",
        sequence: i32,
    ) {
        let header = MessageHeader { kind: MessageKind::try_from(kind).unwrap(), name, sequence };
        let exception =
            ApplicationException { message: "no".to_owned(), kind: ExceptionKind::INTERNAL_ERROR };
        let ours = message_to_vec(&header, &exception).unwrap();
        let message_type = TMessageType::try_from(kind).unwrap();
        let identifier = TMessageIdentifier::new(header.name.clone(), message_type, sequence);
        let mut bytes = Vec::new();
        let mut protocol = TBinaryOutputProtocol::new(&mut bytes, true);
        protocol.write_message_begin(&identifier).unwrap();
        let theirs = thrift::ApplicationError::new(thrift::ApplicationErrorKind::InternalError, "no");
        thrift::Error::write_application_error_to_out_protocol(&theirs, &mut protocol).unwrap();
        prop_assert_eq!(&bytes, &ours);
        let mut protocol = TBinaryInputProtocol::new(ours.as_slice(), true);
        prop_assert_eq!(protocol.read_message_begin().unwrap(), identifier);
    }
}
