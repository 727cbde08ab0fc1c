//! An envelope, and the message in it: if it is accepted and written again it is the same, except
//! for padding and blocks that were empty or split. A frame of a stream is an envelope too.

use breezeway_thrift::{
    Frame, HeaderKey, Limits, MessageHeader, Output, Slice, StreamFrame, TtFrame, TtHeader,
};

/// Runs one input.
pub fn run(bytes: &[u8]) {
    let _ = Frame::split(bytes, Limits::default());
    let _ = MessageHeader::decode(&mut Slice::new(bytes).unwrap());
    let stream = StreamFrame::split(bytes, Limits::default());
    let Ok(Some(frame)) = TtFrame::split(bytes, Limits::default()) else {
        assert!(!matches!(stream, Ok(Some(_))), "a frame of a stream is an envelope");
        return;
    };
    if let Ok(Some(stream)) = stream {
        assert_eq!(
            (&stream.header, stream.payload, stream.rest),
            (&frame.header, frame.payload, frame.rest)
        );
        assert_eq!(stream.header.flags & TtHeader::STREAMING, TtHeader::STREAMING);
        let kind = stream.header.numbered(HeaderKey::FRAME_TYPE);
        assert_eq!(kind, Some(&[stream.kind as u8][..]));
    }
    let mut written = vec![0; frame.header.size() + frame.payload.len()];
    let mut output = Output::new(&mut written);
    frame.header.encode(frame.payload.len(), &mut output);
    // Header information beyond 64 KiB is read, but not written.
    let Ok(size) = output.finish() else { return };
    written[size..].copy_from_slice(frame.payload);
    let again = TtFrame::split(&written, Limits::default()).unwrap().unwrap();
    assert_eq!((again.header, again.payload), (frame.header, frame.payload));
}
