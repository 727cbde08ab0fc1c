//! Adds up tensors where their sender has written them.
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

use breezeway::{Call, Handled, Server};

const PUSH: u32 = 0;
const COUNT: u32 = 1;
const HEADER: usize = 64;

fn serve(count: &AtomicU64, call: Call<'_>) -> Handled {
    match call.method() {
        PUSH => {
            let tensor = call.request();
            if tensor.len() < HEADER {
                return Err("a tensor has a header".into());
            }
            // A field is read once, as the sender could still change it.
            let dimensions = tensor.u64_le_at(0).unwrap_or(0).min(7) as usize;
            let shape: Vec<_> =
                (1..=dimensions).filter_map(|at| tensor.u64_le_at(8 * at)).collect();
            let mut sum = 0.0;
            tensor.slice(HEADER..).try_for_each_chunk(|values| {
                let values = values.as_chunks().0.iter().copied().map(f32::from_le_bytes);
                sum += values.map(f64::from).sum::<f64>();
                Ok::<_, breezeway::HandlerError>(())
            })?;
            println!("shape {shape:?}, sum {sum}");
            count.fetch_add(1, Ordering::Relaxed);
            call.done()
        }
        COUNT => call.reply(count.load(Ordering::Relaxed).to_le_bytes()),
        _ => call.no_such_method(),
    }
}

fn main() -> Result<(), breezeway::Report> {
    let address = std::env::args().nth(1).unwrap_or("shm:/tmp/frames.sock".to_owned());
    let server = Server::bind(address)?;
    println!("listening on {}", server.address());
    let count = AtomicU64::new(0);
    Ok(server.serve(move |call: Call<'_>| serve(&count, call))?)
}
