//! A subscriber that keeps the spans of calls.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Maximum wait for something that must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// The fields of a span, as text.
pub(crate) type Fields = BTreeMap<&'static str, String>;

#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Inner>);

#[derive(Default)]
struct Inner {
    next: AtomicU64,
    spans: Mutex<Spans>,
    closed: Condvar,
}

#[derive(Default)]
struct Spans {
    open: HashMap<u64, (Fields, usize)>,
    closed: Vec<Fields>,
}

struct Into<'f>(&'f mut Fields);

impl Visit for Into<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "breezeway::calls"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::new();
        span.record(&mut Into(&mut fields));
        assert_eq!(span.metadata().name(), "call");
        self.0.spans.lock().unwrap().open.insert(id, (fields, 1));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut spans = self.0.spans.lock().unwrap();
        values.record(&mut Into(&mut spans.open.get_mut(&span.into_u64()).unwrap().0));
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.0.spans.lock().unwrap().open.get_mut(&span.into_u64()).unwrap().1 += 1;
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut spans = self.0.spans.lock().unwrap();
        let copies = &mut spans.open.get_mut(&span.into_u64()).unwrap().1;
        *copies -= 1;
        if *copies > 0 {
            return false;
        }
        let (fields, _) = spans.open.remove(&span.into_u64()).unwrap();
        spans.closed.push(fields);
        self.0.closed.notify_all();
        true
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Collector {
    /// The span of this method at this end, once it is over.
    #[track_caller]
    pub(crate) fn of(&self, role: &str, method: u32) -> Fields {
        let method = method.to_string();
        let is_it = |fields: &Fields| fields["role"] == role && fields["method"] == method;
        let spans = self.0.spans.lock().unwrap();
        let is_missing = |spans: &mut Spans| !spans.closed.iter().any(is_it);
        let (spans, late) = self.0.closed.wait_timeout_while(spans, PATIENCE, is_missing).unwrap();
        assert!(!late.timed_out(), "no {role} {method} in {:?}", spans.closed);
        let found: Vec<_> = spans.closed.iter().filter(|fields| is_it(fields)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    }
}

/// Which part of it a test knows.
#[track_caller]
pub(crate) fn assert_says(fields: &Fields, carrier: &str, outcome: &str, error: Option<&str>) {
    assert_eq!((&*fields["carrier"], &*fields["outcome"]), (carrier, outcome), "{fields:?}");
    assert!(fields["session"].parse::<u64>().unwrap() > 0, "{fields:?}");
    match error {
        None => assert_eq!(fields.get("error"), None),
        Some(part) => assert!(fields["error"].contains(part), "{fields:?}"),
    }
}
