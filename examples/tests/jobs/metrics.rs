//! A scrape of the example by Prometheus, compared with the dashboard and the page.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use breezeway::{Address, ExclusiveSession};

use crate::programs::Server;

const PAGE: &str = include_str!("../../../docs/metrics.md");
const DASHBOARD: &str = include_str!("../../metrics/grafana.json");

/// Time limit of each step.
const PATIENCE: Duration = Duration::from_secs(60);

/// The server and the address of its metrics.
struct Watched {
    /// Ends the process when it is dropped.
    _server: Server,
    address: Address,
    metrics: String,
}

impl Watched {
    fn start(folder: &std::path::Path) -> Self {
        let address = format!("shm:{}/socket", folder.display());
        let server = Server::start("metrics-server", &[&address, "127.0.0.1:0"]);
        let (address, metrics) = server.address.split_once(", metrics at ").unwrap();
        let (address, metrics) = (address.parse().unwrap(), metrics.to_owned());
        Self { _server: server, address, metrics }
    }

    /// Returns every line of a scrape but comments: its value, by the name with its labels.
    fn scrape(&self) -> BTreeMap<String, f64> {
        let mut socket = TcpStream::connect(&self.metrics).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let lines = body.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let pair = |line: &str| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        };
        lines.map(pair).collect()
    }
}

/// The name of a line, without labels.
fn name(line: &str) -> &str {
    line.split('{').next().unwrap()
}

#[test]
fn scrape_counts_live_and_ended_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let server = Watched::start(folder.path());
    let mut staying = ExclusiveSession::connect(&server.address).unwrap();
    let mut leaving = ExclusiveSession::connect(&server.address).unwrap();
    for session in [&mut staying, &mut leaving] {
        for _ in 0..100 {
            assert_eq!(session.call(0, b"Ada").unwrap().to_vec(), b"hello Ada");
        }
    }
    let both = server.scrape();
    assert_eq!(both["breezeway_sessions{role=\"server\"}"], 2.0);
    leaving.call(0, &[0xff]).unwrap_err();
    drop(leaving);
    let expected = [
        ("breezeway_sessions", 1.0),
        ("breezeway_sessions_opened_total", 2.0),
        ("breezeway_calls_received_total", 201.0),
        ("breezeway_bytes_received_total", 601.0),
        ("breezeway_ends_sent_total", 200.0),
        ("breezeway_errors_sent_total", 1.0),
    ];
    // The server learns of the end, and counts what it has sent, in its turn.
    let begun = Instant::now();
    let last = loop {
        let now = server.scrape();
        let value = |name| now[&format!("{name}{{role=\"server\"}}")];
        if expected.iter().all(|&(name, expected)| value(name) == expected) {
            break now;
        }
        assert!(begun.elapsed() < PATIENCE, "{now:?}");
    };
    assert_eq!(last["breezeway_clients_refused_total{reason=\"limit\"}"], 0.0);
    // One call in 61 is timed, of each of the threads that serve.
    assert!((2.0..=3.0).contains(&last["breezeway_handler_seconds_count"]), "{last:?}");
    assert!(last["breezeway_handler_seconds_sum"] > 0.0);
}

#[test]
fn dashboard_and_page_name_the_scraped_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let server = Watched::start(folder.path());
    let mut session = ExclusiveSession::connect(&server.address).unwrap();
    // One more than it takes for one to be timed and noted.
    for _ in 0..62 {
        session.call(0, b"Ada").unwrap();
    }
    let scrape = server.scrape();
    let said: Vec<&str> = scrape.keys().map(|line| name(line)).collect();
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let mut named = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let words = expression.split(|char: char| !(char.is_alphanumeric() || char == '_'));
            for word in words.filter(|word| word.starts_with("breezeway_")) {
                assert!(said.contains(&word), "{word} of {}", panel["title"]);
                named += 1;
            }
        }
    }
    assert!(named > 20, "{named}");
    let of_handlers = |name: &str| name.starts_with("breezeway_handler_seconds_");
    for name in said.iter().filter(|name| !of_handlers(name)) {
        assert!(PAGE.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}
