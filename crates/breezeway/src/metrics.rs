//! Metrics of this process's sessions and handlers, for the facade of crate `metrics`.
//!
//! The crate records nothing on its own: an exporter calls [`record`] before each export, for
//! example once for each scrape, which reads the sums that sessions keep in any case. So sessions
//! cost the same with a recorder and without.
//!
//! All names begin with `breezeway_`; the label `role` names the end of the session: `client`,
//! `server`, or `worker` for a thread that serves sessions. [`describe`] gives a recorder the unit
//! and meaning of each; `docs/metrics.md` has the list.

use breezeway_shm::statistics::{Field, Role, Sums, sums_of_this_process};
use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};

use crate::handler_timer;
use crate::server::refused_by_this_process;

/// Values of the label `reason` of clients that got no session.
const REASONS: [&str; 6] =
    ["denied", "limit", "user_limit", "memory_limit", "pushed_out", "failed"];
/// Values of the label `for` of sessions that wait.
const WAITS: [&str; 3] = ["data", "room", "memory"];

/// Passes the units and the meanings to the recorder.
pub fn describe() {
    describe_gauge!("breezeway_sessions", "sessions, or workers, that live");
    describe_counter!("breezeway_sessions_opened_total", "sessions, or workers, so far");
    describe_gauge!("breezeway_sessions_waiting", "sessions that wait, by what for");
    describe_counter!("breezeway_clients_refused_total", "clients that got no session");
    describe_histogram!(
        "breezeway_handler_seconds",
        Unit::Seconds,
        "how long handlers of calls took, of one call in 61"
    );
    for &field in Field::ALL {
        match (kind(field), unit(field)) {
            (Kind::State, Some(unit)) => describe_gauge!(name(field), unit, field.description()),
            (Kind::State, None) => describe_gauge!(name(field), field.description()),
            (Kind::Count, Some(unit)) => {
                describe_counter!(name(field), unit, field.description());
            }
            (Kind::Count, None) => describe_counter!(name(field), field.description()),
            (Kind::OfOneSession, _) => {}
        }
    }
}

/// Passes the counts so far to the recorder. Counters are absolute, so nothing is lost or doubled
/// between two calls; handler times are those since the last call.
///
/// It takes no lock that a call waits for. The end of a session waits for it, longer with more
/// sessions.
pub fn record() {
    for sums in sums_of_this_process() {
        let role = match sums.role {
            Role::Client => "client",
            Role::Server => "server",
            Role::Worker => "worker",
        };
        record_sums(role, &sums);
    }
    for (reason, count) in REASONS.into_iter().zip(refused_by_this_process()) {
        counter!("breezeway_clients_refused_total", "reason" => reason).absolute(count);
    }
    handler_timer::record();
}

fn record_sums(role: &'static str, sums: &Sums) {
    gauge!("breezeway_sessions", "role" => role).set(sums.live as f64);
    counter!("breezeway_sessions_opened_total", "role" => role).absolute(sums.opened);
    for (what, waiting) in WAITS.into_iter().zip(sums.waiting) {
        gauge!("breezeway_sessions_waiting", "role" => role, "for" => what).set(waiting as f64);
    }
    for &field in Field::ALL {
        // A worker only waits.
        let waits = matches!(field, Field::Spun | Field::Slept | Field::SpinTime);
        if sums.role == Role::Worker && !waits {
            continue;
        }
        let value = sums.totals.get(field);
        match kind(field) {
            Kind::Count => counter!(name(field), "role" => role).absolute(value),
            Kind::State => gauge!(name(field), "role" => role).set(value as f64),
            Kind::OfOneSession => {}
        }
    }
}

/// Kind of a field for a recorder.
enum Kind {
    Count,
    State,
    /// A value without a meaningful sum over sessions.
    OfOneSession,
}

fn kind(field: Field) -> Kind {
    match field {
        Field::WaitsFor
        | Field::WaitsSince
        | Field::Published
        | Field::Consumed
        | Field::OwnControl
        | Field::PeerControl
        | Field::Timed => Kind::OfOneSession,
        _ if field.is_state() => Kind::State,
        _ => Kind::Count,
    }
}

fn unit(field: Field) -> Option<Unit> {
    match field {
        Field::BytesSent
        | Field::BytesReceived
        | Field::OwnMemory
        | Field::PeerMemory
        | Field::Lent
        | Field::Unwritten => Some(Unit::Bytes),
        Field::SpinTime => Some(Unit::Nanoseconds),
        _ => None,
    }
}

fn name(field: Field) -> String {
    let name = field.name();
    match (kind(field), field) {
        (_, Field::SpinTime) => "breezeway_spin_nanoseconds_total".to_owned(),
        (Kind::Count, _) => format!("breezeway_{name}_total"),
        (_, Field::Lends | Field::Streams | Field::Arrivals) => format!("breezeway_{name}"),
        _ => format!("breezeway_{name}_bytes"),
    }
}

#[cfg(test)]
mod tests;
