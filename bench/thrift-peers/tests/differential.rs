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
    ApplicationException, ExceptionKind, IntoOwned, MessageHeader, MessageKind, decode_once,
    decode_slice, message_to_vec, to_vec, view_slice,
};
use convert::comparable;
use generated::apache;
use proptest::prelude::*;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TInputProtocol, TMessageIdentifier, TMessageType,
    TOutputProtocol, TSerializable,
};
use thrift_peers::generated::wide::{Events, EventsView};
use thrift_peers::generated::{kitex, sample_pilota as pilota, wide_pilota};
use thrift_peers::shapes;

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

    /// Theirs have no value for such a union.
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
        prop_assert_eq!(to_vec(&comparable(viewed.into_owned())).unwrap(), bytes);
    }

    /// Includes values that they write otherwise: sets with repetitions, keys that are NaN or -0.0,
    /// unions without a value.
    #[test]
    fn value_survives_crate_thrift_pilota_and_every_way_to_read(
        mut node in arbitrary::node(),
        unset: bool,
    ) {
        if unset {
            node.shape = Some(Shape::Unset);
        }
        let bytes = to_vec(&node).unwrap();
        let meant = to_vec(&convert::canonical(node)).unwrap();
        let by_thrift = apache_bytes(&apache_node(&bytes).unwrap());
        let by_pilota = pilota_bytes(&pilota_node(&bytes));
        for theirs in [&bytes, &by_thrift, &by_pilota] {
            let owned: Node = decode_slice(theirs).unwrap();
            let once: Node = decode_once(theirs).unwrap();
            let viewed: NodeView<'_> = view_slice(theirs).unwrap();
            for read in [owned, once, viewed.into_owned()] {
                prop_assert_eq!(to_vec(&convert::canonical(read)).unwrap(), meant.as_slice());
            }
        }
    }

    /// In the order of fields that Kitex writes, and with fields that pilota's code does not know.
    #[test]
    fn pilota_reads_events_of_any_order_and_version_as_we_do(count in 0..40usize, seed: u64) {
        let events = shapes::events_of(seed, count);
        let bytes = to_vec(&events).unwrap();
        let kitex: kitex::Events = decode_slice(&bytes).unwrap();
        let later = to_vec(&shapes::later(events.clone())).unwrap();
        for bytes in [bytes.clone(), to_vec(&kitex).unwrap(), later] {
            prop_assert_eq!(decode_slice::<Events>(&bytes).unwrap(), events.clone());
            prop_assert_eq!(decode_once::<Events>(&bytes).unwrap(), events.clone());
            prop_assert_eq!(view_slice::<EventsView<'_>>(&bytes).unwrap().events.len(), count);
            let mut left = Bytes::from(bytes);
            let protocol = &mut TBinaryProtocol::new(&mut left, false);
            let theirs = wide_pilota::Events::decode(protocol).unwrap();
            let mut written = ::pilota::BytesMut::new();
            theirs.encode(&mut TBinaryProtocol::new(&mut written, false)).unwrap();
            prop_assert_eq!(decode_slice::<Events>(&written).unwrap(), events.clone());
        }
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
        // They read a known field of another type as if it had its own type: compare a value only
        // if it holds everything that the bytes contain.
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
