//! Thrift messages between two ends of a session, encoded straight into the memory they travel in.
//! The types come from `weather.thrift` by way of `build.rs`.
#![forbid(unsafe_code)]

use breezeway::{
    Call, ExclusiveServerSession, ExclusiveSession, HandlerError, Replied, SessionOptions,
};
use breezeway_thrift::{Encode, decode_once, encode_slice, view_slice};
use examples::weather::{Reading, Summary, SummaryView};

const SUMMARIZE: u32 = 0;

fn main() -> Result<(), breezeway::Report> {
    let (mut client, server): (ExclusiveSession, ExclusiveServerSession) =
        ExclusiveSession::pair(&SessionOptions::new())?;
    let server = std::thread::spawn(move || server.serve(&summarize));

    let celsius = (0..1000).map(|minute| 15.0 + f64::from(minute) / 100.0).collect();
    let reading = Reading { station: "Zermatt".to_owned(), unix_seconds: 1_767_225_600, celsius };
    // The exact size first, then one reservation, and the message is never copied.
    let mut request = client.reserve(reading.size())?;
    encode_slice(&reading, request.bytes_mut())?;
    let reply = request.call(SUMMARIZE)?.to_vec();
    // A view reads fields in place; `to_vec` made a private copy, so that they cannot change.
    let summary: SummaryView<'_> = view_slice(&reply)?;
    println!("{}: {:.2} °C on average", summary.station, summary.mean_celsius);

    drop(client);
    server.join().expect("the server panicked")?;
    Ok(())
}

fn summarize(call: Call<'_>) -> Result<Replied, HandlerError> {
    // The client could still change these bytes, so each is read once.
    let request = call.request();
    let reading: Reading = decode_once((request.reader(), request.len()))?;
    let mean_celsius = reading.celsius.iter().sum::<f64>() / reading.celsius.len() as f64;
    let summary = Summary { station: reading.station, mean_celsius };
    let mut reply = call.reserve(summary.size())?;
    encode_slice(&summary, reply.bytes_mut())?;
    reply.commit()
}
