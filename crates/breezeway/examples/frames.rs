//! Sends frames of 8 MiB without copying them: they are made in the memory that the peer
//! reads. That memory is ready before the first frame, which a camera would else lose.

use std::time::{Duration, Instant};

use breezeway::{Call, ExclusiveServerSession, ExclusiveSession, SessionOptions};

const PUSH: u32 = 0;
const FRAME: usize = 8 * 1024 * 1024;
/// One frame is made while the viewer reads another one.
const READY: u64 = 2 * FRAME as u64;

fn main() -> Result<(), breezeway::Report> {
    let (mut camera, viewer): (ExclusiveSession, ExclusiveServerSession) =
        ExclusiveSession::pair(&SessionOptions::new().prefault(READY))?;
    let viewer = std::thread::spawn(move || {
        viewer.serve(&|call: Call<'_>| {
            let (number, last) = (call.request().u64_le_at(0), call.request().u64_le_at(FRAME - 8));
            println!("frame {number:?}, whole: {}", number == last);
            call.done()
        })
    });
    let mut longest = Duration::ZERO;
    for number in 1u64..=5 {
        let start = Instant::now();
        let mut frame = camera.reserve(FRAME)?;
        longest = longest.max(start.elapsed());
        for word in frame.bytes_mut().as_chunks_mut::<8>().0 {
            *word = number.to_le_bytes();
        }
        frame.post(PUSH)?;
    }
    drop(camera);
    viewer.join().expect("the viewer panicked")?;
    println!("space for a frame took {longest:?} at most");
    Ok(())
}
