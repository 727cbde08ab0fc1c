//! Metrics recorded for the `metrics` facade.
#![cfg(feature = "metrics")]

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Recorded values, by name and role.
static VALUES: LazyLock<Mutex<HashMap<String, f64>>> = LazyLock::new(Mutex::default);

struct Cell(String);

impl Cell {
    fn add(&self, value: f64) {
        *VALUES.lock().unwrap().entry(self.0.clone()).or_default() += value;
    }
}

impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, _: u64) {
        unimplemented!("sums over sessions are increments")
    }
}

impl GaugeFn for Cell {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, _: f64) {
        unimplemented!("sums over sessions are increments")
    }
}

impl HistogramFn for Cell {
    fn record(&self, _: f64) {
        self.add(1.0);
    }
}

struct Recording;

fn cell(key: &Key) -> Arc<Cell> {
    let labels: Vec<_> = key.labels().map(|label| label.value().to_owned()).collect();
    Arc::new(Cell(format!("{} {}", key.name(), labels.join(" "))))
}

impl Recorder for Recording {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(cell(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(cell(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(cell(key))
    }
}

fn value(name: &str) -> f64 {
    VALUES.lock().unwrap().get(name).copied().unwrap_or_default()
}

#[test]
fn counters_are_recorded_and_gauges_return_to_zero() {
    metrics::set_global_recorder(Recording).unwrap();
    let options = ClientOptions::new(Trust::SameUser);
    let server = ServerOptions::new(Trust::SameUser);
    let (client, served) = Session::pair(&options, &server).unwrap();
    assert_eq!((value("shmipc_sessions client"), value("shmipc_sessions server")), (1.0, 1.0));
    assert!(value("shmipc_region_bytes client") >= f64::from(32 << 20));
    let mut stream = client.open().unwrap();
    stream.send(b"hello").unwrap();
    client.record_metrics();
    client.record_metrics();
    assert_eq!(value("shmipc_bytes_sent_total client"), 5.0);
    assert_eq!(value("shmipc_messages_sent_total client"), 1.0);
    assert_eq!(value("shmipc_queue_depth client"), 2.0, "each time");
    stream.send(b"again").unwrap();
    client.close();
    assert_eq!(value("shmipc_bytes_sent_total client"), 10.0);
    served.close();
    for gauge in ["shmipc_sessions", "shmipc_region_bytes"] {
        for role in ["client", "server"] {
            assert_eq!(value(&format!("{gauge} {role}")), 0.0);
        }
    }
}
