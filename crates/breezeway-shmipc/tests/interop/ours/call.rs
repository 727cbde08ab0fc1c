//! The calling side of upstream's example "best practice": a request is an id, a name and a key,
//! the reply has the same bytes.

use std::io::Read;

use super::settings::Settings;
use super::{Outcome, say};

pub(super) fn run(settings: &Settings) -> Outcome<()> {
    let client = settings.connect()?;
    let (streams, count) = (settings.get("streams", 1), settings.get("count", 1));
    std::thread::scope(|scope| {
        let calling: Vec<_> = (0..streams)
            .map(|number: u64| {
                let client = &client;
                scope.spawn(move || -> Outcome<()> {
                    let mut stream = client.open()?;
                    for round in 0..count {
                        let request = request(number << 32 | round);
                        stream.send(&request)?;
                        let mut reply = vec![0; request.len()];
                        stream.read_exact(&mut reply)?;
                        if reply != request {
                            return Err(format!("reply {round} of stream {number} differs").into());
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        calling.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    say(format_args!("done {}", streams * count));
    Ok(())
}

fn request(id: u64) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    for field in [b"xxx".to_vec(), vec![id as u8; 1 + id as usize % 5000]] {
        bytes.extend_from_slice(&(field.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&field);
    }
    bytes
}
