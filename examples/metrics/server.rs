//! A server whose figures Prometheus scrapes: `grafana.json` beside this is a dashboard for them.
//!
//! ```text
//! cargo run -p examples --bin metrics-server -- shm:/tmp/hello.sock 127.0.0.1:9185
//! cargo run -p examples --bin sync-client && curl http://127.0.0.1:9185/metrics
//! ```
#![forbid(unsafe_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use breezeway::{Call, Server, metrics};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

/// Seconds up to which handlers are counted together.
const BUCKETS: [f64; 10] = [1e-7, 3e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0];

fn main() -> Result<(), breezeway::Report> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("shm:/tmp/hello.sock".to_owned());
    let listener = arguments.next().unwrap_or("127.0.0.1:9185".to_owned());

    let handlers = Matcher::Full("breezeway_handler_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(handlers, &BUCKETS)?;
    let prometheus = builder.install_recorder()?;
    metrics::describe();

    let server = Server::bind(address)?;
    let listener = TcpListener::bind(listener)?;
    println!("listening on {}, metrics at {}", server.address(), listener.local_addr()?);
    std::thread::spawn(move || {
        for scraper in listener.incoming() {
            // Records the counts of all sessions up to now.
            metrics::record();
            prometheus.run_upkeep();
            if let Err(error) = scraper.and_then(|socket| answer(socket, &prometheus.render())) {
                eprintln!("a scrape failed: {error}");
            }
        }
    });
    server.serve(|call: Call<'_>| {
        let name = String::from_utf8(call.request().to_vec())?;
        call.reply(format!("hello {name}").as_bytes())
    })?;
    Ok(())
}

fn answer(mut socket: TcpStream, text: &str) -> io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    let request = BufReader::new(io::Read::take(socket.try_clone()?, 8192));
    for line in request.lines().take_while(|line| !matches!(line, Ok(line) if line.is_empty())) {
        line?;
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nConnection: close";
    write!(socket, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}
