//! Bytes of other implementations are read correctly, and written the same.

use crate::support::structs::*;
use crate::support::vectors::*;
use breezeway_idl_corpus::sample::{Ano, MyTest, MyTestView, MyTestWriter};
use breezeway_thrift::{
    ApplicationException, Decode, DecodeError, Encode, Envelope, ExceptionKind, Fault, Frame,
    HeaderKey, Limits, MessageHeader, MessageKind, Output, PayloadProtocol, Set, Slice, TtFrame,
    TtHeader, Uuid, decode_once, decode_slice, frame_header, message_to_vec, to_vec, view_slice,
};

fn header(kind: MessageKind, name: &str, sequence: i32) -> MessageHeader {
    MessageHeader { kind, name: name.to_owned(), sequence }
}

/// Reads the header and body of `bytes`, and checks that writing them again returns `bytes`.
fn read_message<T: Decode + Encode>(bytes: &[u8]) -> (MessageHeader, T) {
    let mut from = Slice::new(bytes).unwrap();
    let header = MessageHeader::decode(&mut from).unwrap();
    let body = T::decode(&mut from).unwrap();
    from.end().unwrap();
    let mut from = Slice::new(bytes).unwrap();
    let viewed = MessageHeader::view(&mut from).unwrap();
    let borrowed = (viewed.kind, viewed.name, viewed.sequence);
    assert_eq!(borrowed, (header.kind, header.name.as_str(), header.sequence));
    assert_eq!(message_to_vec(&header, &body).unwrap(), bytes);
    (header, body)
}

/// Reads a struct by both owned decoders, and checks that writing it again returns `bytes`.
fn read_struct<T: Decode + Encode + PartialEq + std::fmt::Debug>(bytes: &[u8]) -> T {
    let value: T = decode_slice(bytes).unwrap();
    assert_eq!(to_vec(&value).unwrap(), bytes);
    assert_eq!(value.size(), bytes.len());
    let once: T = decode_once(bytes).unwrap();
    assert_eq!(to_vec(&once).unwrap(), bytes);
    value
}

fn echo() -> EchoArguments {
    EchoArguments { request: Echo { text: "hi".to_owned(), number: -2 } }
}

#[test]
fn v1_a_call() {
    let (header, body) = read_message::<EchoArguments>(&hex(V1));
    assert_eq!(header, self::header(MessageKind::Call, "echo", 1));
    assert_eq!(body, echo());
    let bytes = hex(V1);
    let view: EchoArgumentsView<'_> = view_slice(&bytes[16..]).unwrap();
    assert_eq!(view.request, EchoView { text: "hi", number: -2 });
}

#[test]
fn v2_a_framed_call() {
    let bytes = hex(V2);
    let frame = Frame::split(&bytes, Limits::default()).unwrap().unwrap();
    assert_eq!(frame.message, hex(V1));
    assert!(frame.rest.is_empty());
    assert_eq!(frame_header(frame.message.len()).unwrap(), bytes[..4]);
}

#[test]
fn v3_all_types() {
    let expected = AllTypes {
        bool: true,
        byte: -1,
        i16: 258,
        i32: 16_909_060,
        i64: -1,
        double: 1.5,
        string: "é".to_owned(),
        binary: vec![0xff, 0],
        list: vec![1, 2],
        set: Set(vec![7]),
        map: [("k".to_owned(), 9)].into(),
        empty: [].into(),
        negative: 0,
    };
    assert_eq!(read_struct::<AllTypes>(&hex(V3)), expected);
    let bytes = hex(V3);
    let view: AllTypesView<'_> = view_slice(&bytes).unwrap();
    assert_eq!(AllTypes::from(view), expected);
}

#[test]
fn v4_a_list_of_numbers() {
    let expected = MyTest { num: 1, ano: Ano { a: 2 }, nums: vec![1, 2, 3] };
    let bytes = hex(V4);
    assert_eq!(read_struct::<MyTest>(&bytes), expected);
    let view: MyTestView<'_> = view_slice(&bytes).unwrap();
    assert_eq!((view.num, view.ano.a, view.nums.to_vec()), (1, 2, vec![1, 2, 3]));
    assert_eq!(view.nums.sum(), 6);
    let mut buffer = [0; 59];
    let mut output = Output::new(&mut buffer);
    MyTestWriter::new(&mut output).num(1).ano(|ano| ano.a(2)).nums([1, 2, 3]).end();
    assert_eq!(output.finish(), Ok(59));
    assert_eq!(buffer[..], bytes);
}

#[test]
fn v4_with_131072_elements_takes_1048611_bytes() {
    let test = MyTest { num: 1, ano: Ano { a: 2 }, nums: (0..131_072).collect() };
    assert_eq!(test.size(), 1_048_611);
    let bytes = to_vec(&test).unwrap();
    assert_eq!(bytes[34..42], [0; 8]);
    assert_eq!(bytes[42..50], 1i64.to_be_bytes());
    assert_eq!(decode_slice::<MyTest>(&bytes), Ok(test));
}

#[test]
fn v5_a_reply_with_a_negative_sequence_number() {
    let (header, body) = read_message::<NumberResult>(&hex(V5));
    assert_eq!(header, self::header(MessageKind::Reply, "add", -1));
    assert_eq!(body.success, 42);
}

#[test]
fn v6_an_empty_reply() {
    let (header, _) = read_message::<Empty>(&hex(V6));
    assert_eq!(header, self::header(MessageKind::Reply, "ping", 3));
}

#[test]
fn v7_a_oneway_call() {
    let (header, _) = read_message::<Empty>(&hex(V7));
    assert_eq!(header, self::header(MessageKind::Oneway, "log", 4));
}

#[test]
fn v8_an_application_exception() {
    let (header, exception) = read_message::<ApplicationException>(&hex(V8));
    assert_eq!(header, self::header(MessageKind::Exception, "echo", 1));
    let message = "unknown method x".to_owned();
    let kind = ExceptionKind::UNKNOWN_METHOD;
    assert_eq!(exception, ApplicationException { message, kind });
}

#[test]
fn an_application_exception_with_unknown_fields_is_read() {
    let bytes = hex("080063000000070b0001000000016d0a006400000000000000010800020000000600");
    let exception: ApplicationException = decode_slice(&bytes).unwrap();
    assert_eq!((exception.message.as_str(), exception.kind), ("m", ExceptionKind::INTERNAL_ERROR));
}

#[test]
fn v9_a_declared_exception() {
    let (header, body) = read_message::<FailureResult>(&hex(V9));
    assert_eq!(header, self::header(MessageKind::Reply, "echo", 1));
    assert_eq!(body.failure.reason, "bad");
}

#[test]
fn v10_nested_containers_and_the_bits_of_a_nan() {
    let bytes = hex(V10);
    let value: Nesting = decode_slice(&bytes).unwrap();
    assert_eq!(to_vec(&value).unwrap(), bytes);
    assert_eq!(value.map["a"], [Flag { flag: Some(true) }, Flag { flag: None }]);
    assert_eq!(value.flags, [true, false]);
    assert_eq!(value.strings, ["", "x"]);
    let bits: Vec<u64> = value.doubles.iter().map(|double| double.to_bits()).collect();
    assert_eq!(bits, [1 << 63, 0x7ff8_0000_0000_0001]);
    let view: NestingView<'_> = view_slice(&bytes).unwrap();
    assert_eq!(to_vec(&Nesting::from(view)).unwrap(), bytes);
}

#[test]
fn v11_to_v13_odd_names() {
    for (vector, name, sequence) in [(V11, "", 0), (V12, "方法", i32::MAX), (V13, "Svc:echo", 1)]
    {
        let (header, _) = read_message::<Empty>(&hex(vector));
        assert_eq!(header, self::header(MessageKind::Call, name, sequence));
    }
}

#[test]
fn u1_a_uuid() {
    let value: Identified = read_struct(&hex(U1));
    assert_eq!(value.id, Uuid(std::array::from_fn(|index| index as u8)));
}

#[test]
fn o1_the_old_header_is_refused() {
    let bytes = hex(O1);
    let error = MessageHeader::decode(&mut Slice::new(&bytes).unwrap()).unwrap_err();
    assert_eq!(error, DecodeError { offset: 0, fault: Fault::Version([0, 0, 0, 4]) });
}

/// Reads the header and payload of one envelope, and checks that writing them again returns
/// `bytes`.
fn read_envelope(bytes: &[u8]) -> (TtHeader, &[u8]) {
    let frame = TtFrame::split(bytes, Limits::default()).unwrap().unwrap();
    assert!(frame.rest.is_empty());
    let mut written = vec![0; frame.header.size() + frame.payload.len()];
    let mut output = Output::new(&mut written);
    frame.header.encode(frame.payload.len(), &mut output);
    let size = output.finish().unwrap();
    written[size..].copy_from_slice(frame.payload);
    assert_eq!(written, bytes);
    (frame.header, frame.payload)
}

fn pair(key: &str, value: &str) -> (Vec<u8>, Vec<u8>) {
    (key.into(), value.into())
}

#[test]
fn t1_an_empty_envelope() {
    let bytes = hex(T1);
    let (header, payload) = read_envelope(&bytes);
    assert_eq!(header, TtHeader { sequence: 1, ..TtHeader::default() });
    assert_eq!(payload, hex(V1));
}

#[test]
fn t2_an_envelope_with_a_method_and_a_frame() {
    let bytes = hex(T2);
    let (header, payload) = read_envelope(&bytes);
    assert_eq!(header.numbered(HeaderKey::TO_METHOD), Some(&b"echo"[..]));
    assert_eq!(payload, hex(V2));
}

#[test]
fn t3_an_envelope_with_a_text() {
    let bytes = hex(T3);
    let (header, payload) = read_envelope(&bytes);
    let texts = vec![pair("isn", "Svc")];
    assert_eq!(header, TtHeader { sequence: 258, texts, ..TtHeader::default() });
    assert_eq!(header.text("isn"), Some(&b"Svc"[..]));
    assert!(payload.is_empty());
}

#[test]
fn t4_and_t5_an_access_token_before_all_else() {
    let bytes = hex(T4);
    assert_eq!(read_envelope(&bytes).0.acl_token.as_deref(), Some(&b"tok"[..]));
    let bytes = hex(T5);
    let (header, _) = read_envelope(&bytes);
    assert_eq!(header.acl_token.as_deref(), Some(&b"tok"[..]));
    assert_eq!(header.texts, [pair("rip", "1")]);
    assert_eq!(header.numbered, [(HeaderKey::MESSAGE_TYPE, b"1".to_vec())]);
}

#[test]
fn metadata_that_is_no_text_is_read_and_written() {
    let header = TtHeader {
        texts: vec![(vec![0xff], vec![0xc3, 0x28])],
        numbered: vec![(HeaderKey::MESSAGE_TYPE, vec![0x80])],
        ..TtHeader::default()
    };
    let mut bytes = vec![0; header.size()];
    let mut output = Output::new(&mut bytes);
    header.encode(0, &mut output);
    assert_eq!(output.finish(), Ok(bytes.len()));
    assert_eq!(read_envelope(&bytes).0, header);
    assert_eq!(header.text([0xff]), Some(&[0xc3, 0x28][..]));
}

#[test]
fn s1_to_s4_frames_of_a_stream() {
    for (vector, frame_type) in [(S1, "2"), (S2, "3"), (S3, "4"), (S4, "5")] {
        let bytes = hex(vector);
        let (header, payload) = read_envelope(&bytes);
        assert_eq!(header.flags, TtHeader::STREAMING);
        assert_eq!(header.sequence, 5);
        assert_eq!(header.protocol, PayloadProtocol::Struct);
        assert_eq!(header.numbered(HeaderKey::FRAME_TYPE), Some(frame_type.as_bytes()));
        match frame_type {
            "3" => assert_eq!(decode_slice::<Echo>(payload).unwrap().text, "hi"),
            "5" => assert_eq!(payload, hex(V8)),
            _ => assert!(payload.is_empty()),
        }
    }
}

#[test]
fn x1_apaches_header_is_refused() {
    let bytes = hex(X1);
    let error = TtFrame::split(&bytes, Limits::default()).unwrap_err();
    assert_eq!(error, DecodeError { offset: 4, fault: Fault::HeaderMagic(0x0fff) });
}

#[test]
fn protocol_is_detected_by_first_eight_bytes() {
    for (vector, envelope) in [
        (V1, Some(Envelope::Unframed)),
        (V2, Some(Envelope::Framed)),
        (T1, Some(Envelope::TtHeader)),
        (S1, Some(Envelope::TtHeaderStreaming)),
        (O1, None),
        (X1, None),
        ("ffaf000000000000", Some(Envelope::Mesh)),
        ("0000001090010001", Some(Envelope::KitexProtobuf)),
        ("505249202a204854", Some(Envelope::Http2)),
    ] {
        let bytes = hex(vector);
        assert_eq!(Envelope::detect(bytes.first_chunk().unwrap()), envelope, "{vector}");
    }
}
