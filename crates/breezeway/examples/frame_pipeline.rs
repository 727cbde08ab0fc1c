//! `cargo run -p breezeway --example frame_pipeline`: a pipeline of frames: the receiving thread
//! hands them to an encoder thread as they came, without a copy, and the sender gets the memory
//! back when the encoder drops them.

use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use breezeway::{ExclusiveSession, Incoming, Message, ServerSession, SessionOptions};

const PUSH: u32 = 0;
const FRAME: usize = 8 * 1024 * 1024;
const FRAMES: u64 = 100;

fn main() -> Result<(), breezeway::Report> {
    let (camera_end, pipeline_end) = UnixStream::pair()?;
    // Both sides may be processes of their own: each has its end of the socket.
    let pipeline = thread::spawn(move || run_pipeline(pipeline_end));
    let mut camera = ExclusiveSession::from_socket(camera_end.into(), &SessionOptions::new())?;
    let start = Instant::now();
    for number in 0..FRAMES {
        // Waits while the encoder holds as many frames as the cap has room for.
        let mut frame = camera.reserve(FRAME)?;
        frame.bytes_mut()[..8].copy_from_slice(&number.to_le_bytes());
        frame.post(PUSH)?;
    }
    drop(camera);
    let encoded = pipeline.join().expect("the pipeline panicked");
    let seconds = start.elapsed().as_secs_f64();
    println!("{encoded} frames of 8 MiB in order, {:.0} a second", encoded as f64 / seconds);
    Ok(())
}

/// Receives on this thread and encodes on another; gives how many frames came in order.
fn run_pipeline(socket: UnixStream) -> u64 {
    let server = ServerSession::from_socket(socket.into(), &SessionOptions::new()).unwrap();
    let (frames, to_encode) = mpsc::channel::<Message>();
    let encoder = thread::spawn(move || {
        let mut last = Vec::new();
        let mut count = 0;
        for frame in to_encode {
            assert_eq!(frame.bytes().u64_le_at(0), Some(count));
            count += 1;
            // As a codec keeps frames to refer to, in no particular order.
            last.push(frame);
            if last.len() == 3 {
                last.swap_remove(count as usize % 3);
            }
        }
        count
    });
    while let Ok(Some(Incoming::Call(frame))) = server.accept() {
        frames.send(frame.into_message()).unwrap();
    }
    drop(frames);
    encoder.join().unwrap()
}
