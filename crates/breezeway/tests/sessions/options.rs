//! `docs/vectors/options.txt`: the options and their ranges, as every language has them.

use std::time::Duration;

use breezeway::{ClientOptions, OptionError, ServerOptions, SessionOptions};

const OPTIONS: &str = include_str!("../../../../docs/vectors/options.txt");

/// Validates options of which one has this value; `None` for a name that is not known.
fn set(owner: &str, name: &str, value: u64) -> Option<Result<(), OptionError>> {
    let session = SessionOptions::new;
    let client = ClientOptions::new;
    let server = ServerOptions::new;
    let time = Duration::from_nanos(value);
    let (small, medium) = (value as u16, value as u32);
    let count = usize::try_from(value).ok()?;
    let session = match (owner, name) {
        ("session", "cap") => session().cap(value),
        ("session", "prefault") => session().prefault(value),
        ("session", "ring_capacity") => session().ring_capacity(medium),
        ("session", "handshake_timeout") => session().handshake_timeout(time),
        ("session", "call_timeout") => session().call_timeout(Some(time)),
        ("session", "stream_window") => session().stream_window(medium, value),
        ("session", "max_streams") => session().max_streams(small),
        ("session", "max_metadata") => session().max_metadata(medium),
        ("session", "service") => session().service(small),
        ("client", "max_sessions") => return Some(client().max_sessions(count).validate()),
        ("client", "wait_for_server") => return Some(client().wait_for_server(time).validate()),
        ("client", "return_to_first") => return Some(client().return_to_first(time).validate()),
        ("server", name) => {
            let options = match name {
                "workers" => server().workers(count),
                "offload" => server().offload(count),
                "stream_threads" => server().stream_threads(count),
                "reply_timeout" => server().reply_timeout(time),
                "drain_timeout" => server().drain_timeout(time),
                "max_sessions" => server().max_sessions(count),
                "max_sessions_of_user" => server().max_sessions_of_user(count),
                "max_memory" => server().max_memory(value),
                "max_memory_of_user" => server().max_memory_of_user(value),
                "max_calls_in_flight" => server().max_calls_in_flight(count),
                "socket_mode" => server().socket_mode(medium),
                _ => return None,
            };
            return Some(options.validate());
        }
        _ => return None,
    };
    Some(session.validate())
}

#[test]
fn options_have_the_ranges_of_the_list() {
    let mut checked = 0;
    for line in OPTIONS.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let [owner, name, kind, least, most, ..] = words[..] else { panic!("{line}") };
        if kind == "policy" {
            continue;
        }
        // Numbers of 16 bits cannot be beyond their range.
        let is_typed = ["max_streams", "service"].contains(&name);
        for (bound, beyond) in
            [(least, u64::wrapping_sub as fn(u64, u64) -> u64), (most, u64::wrapping_add)]
        {
            let Ok(value) = bound.parse::<u64>() else {
                assert_eq!(bound, "-", "{line}");
                continue;
            };
            let at = set(owner, name, value).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(at, Ok(()), "{line}");
            let past = beyond(value, 1);
            if past == u64::MAX || is_typed {
                continue;
            }
            let refused = set(owner, name, past).unwrap().expect_err(line);
            assert_eq!(refused.option(), name, "{line}");
            checked += 1;
        }
    }
    assert!(checked > 25, "{checked} bounds were checked");
}

/// Returns a bound as the page shows it.
fn shown(kind: &str, name: &str, bound: &str) -> String {
    const SECOND: u64 = 1_000_000_000;
    let value: u64 = bound.parse().expect("a number");
    match (kind, value) {
        ("time", 0) => "0 s".to_owned(),
        ("time", _) if value.is_multiple_of(3600 * SECOND) => {
            format!("{} h", value / 3600 / SECOND)
        }
        ("time", _) if value.is_multiple_of(SECOND) => format!("{} s", value / SECOND),
        ("time", _) => format!("{value} ns"),
        _ if name == "socket_mode" => format!("{value:#o}"),
        _ if value == 1 << 40 => "1 TiB".to_owned(),
        _ if value == 1 << 63 => "2^63".to_owned(),
        _ => {
            let digits = value.to_string().into_bytes();
            let groups: Vec<_> = digits.rchunks(3).rev().map(String::from_utf8_lossy).collect();
            groups.join(",")
        }
    }
}

#[test]
fn page_has_every_option_with_its_range() {
    const PAGE: &str = include_str!("../../../../docs/options.md");
    let rows = |owner: &str| {
        let (_, section) = PAGE.split_once(&format!("## {owner}Options\n")).expect(owner);
        let section = section.split("\n## ").next().unwrap_or_default();
        section
            .lines()
            .filter(|line| line.starts_with("| `"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (owner, title) in [("session", "Session"), ("client", "Client"), ("server", "Server")] {
        let rows = rows(title);
        let lines = OPTIONS.lines().filter(|line| line.starts_with(&format!("{owner} ")));
        assert_eq!(rows.len(), lines.clone().count(), "{title}");
        for (row, line) in rows.iter().zip(lines) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, name, kind, least, most, go, ..] = words[..] else { panic!("{line}") };
            let range = match (least, most) {
                ("-", _) => "–".to_owned(),
                (_, "-") => format!("{} or more", shown(kind, name, least)),
                _ => format!("{} to {}", shown(kind, name, least), shown(kind, name, most)),
            };
            let go = if go == "-" { "–".to_owned() } else { format!("`{go}`") };
            assert!(row.starts_with(&format!("| `{name}` |")), "{row}: {line}");
            assert!(row.ends_with(&format!("| {range} | {go} |")), "{row}: {line}");
        }
    }
}
