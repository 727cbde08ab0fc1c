//! Settings from a TOML file. `breezeway.toml` in this package shows all of them.

use std::path::Path;

use toml::{Table, Value};

use super::{ServerSettings, SessionSettings, value};
use crate::failure::Failure;

/// Settings of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) session: SessionSettings,
    pub(crate) server: ServerSettings,
}

/// Parses a value and stores it, or returns a message about the value.
type Set = fn(&mut File, &str) -> Result<(), String>;

/// Every setting: its section, its key, and its place.
const SETTINGS: [(&str, &str, Set); 16] = [
    ("session", "wait", |file, text| put(&mut file.session.wait, value::wait(text))),
    ("session", "spin_bound", |file, text| {
        put(&mut file.session.spin_bound, value::spin_bound(text))
    }),
    ("session", "cap", |file, text| put(&mut file.session.cap, value::cap(text))),
    ("session", "prefault", |file, text| put(&mut file.session.prefault, value::prefault(text))),
    ("session", "shrink_after", |file, text| {
        put(&mut file.session.shrink_after, value::shrink_after(text))
    }),
    ("session", "under_way", |file, text| put(&mut file.session.under_way, value::under_way(text))),
    ("session", "ring_capacity", |file, text| {
        put(&mut file.session.ring_capacity, value::ring_capacity(text))
    }),
    ("session", "handshake_timeout", |file, text| {
        put(&mut file.session.handshake_timeout, value::handshake_timeout(text))
    }),
    ("session", "call_timeout", |file, text| {
        put(&mut file.session.call_timeout, value::call_timeout(text))
    }),
    ("server", "workers", |file, text| put(&mut file.server.workers, value::workers(text))),
    ("server", "offload", |file, text| put(&mut file.server.offload, value::offload(text))),
    ("server", "max_sessions", |file, text| {
        put(&mut file.server.max_sessions, value::max_sessions(text))
    }),
    ("server", "max_memory", |file, text| {
        put(&mut file.server.max_memory, value::max_memory(text))
    }),
    ("server", "max_memory_of_user", |file, text| {
        put(&mut file.server.max_memory_of_user, value::max_memory_of_user(text))
    }),
    ("server", "max_calls_in_flight", |file, text| {
        put(&mut file.server.max_calls_in_flight, value::max_calls_in_flight(text))
    }),
    ("server", "socket_mode", |file, text| {
        put(&mut file.server.socket_mode, value::socket_mode(text))
    }),
];

fn put<T>(place: &mut Option<T>, parsed: Result<T, String>) -> Result<(), String> {
    *place = Some(parsed?);
    Ok(())
}

impl File {
    /// Reads a file; an error names it, and the key and the value.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let at = |reason: String| format!("{}: {reason}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        Ok(Self::parse(&text).map_err(at)?)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| not_toml(&error, text))?;
        let mut file = Self::default();
        for (section, value) in &table {
            let Value::Table(keys) = value else {
                return Err(format!("{section} is not a section; {}", known_sections()));
            };
            for (key, value) in keys {
                file.set(section, key, value)
                    .map_err(|reason| format!("{section}.{key} = {value}: {reason}"))?;
            }
            if keys.is_empty() && !SETTINGS.iter().any(|&(known, ..)| known == section) {
                return Err(format!("[{section}] is not known; {}", known_sections()));
            }
        }
        Ok(file)
    }

    fn set(&mut self, section: &str, key: &str, value: &Value) -> Result<(), String> {
        let known = SETTINGS.iter().find(|&&(other, name, _)| (other, name) == (section, key));
        let Some((.., set)) = known else { return Err(unknown(section)) };
        match value {
            Value::String(text) => set(self, text),
            // The one number that people write in octal.
            Value::Integer(mode) if key == "socket_mode" => set(self, &format!("{mode:o}")),
            Value::Integer(number) => set(self, &number.to_string()),
            _ => Err("expected a string or a whole number".to_owned()),
        }
    }
}

/// Returns the error that lists the keys of a section.
fn unknown(section: &str) -> String {
    let keys = SETTINGS.iter().filter(|&&(other, ..)| other == section);
    let keys: Vec<_> = keys.map(|&(_, key, _)| key).collect();
    match keys[..] {
        [] => format!("[{section}] is not known; {}", known_sections()),
        _ => format!("this key is not known; those of [{section}] are {}", keys.join(", ")),
    }
}

fn known_sections() -> String {
    let mut sections: Vec<_> = SETTINGS.iter().map(|&(section, ..)| section).collect();
    sections.dedup();
    format!("there are [{}]", sections.join("] and ["))
}

/// Returns the error for a text that is not TOML, with line and reason.
fn not_toml(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map_or(0, |span| text[..span.start].matches('\n').count()) + 1;
    format!("line {line}: {}", error.message())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use breezeway::{ServerOptions, SessionOptions};

    use super::super::Wait;
    use super::*;

    const SAMPLE: &str = include_str!("../../breezeway.toml");

    fn refused(text: &str, words: &[&str]) {
        let reason = File::parse(text).expect_err(text);
        for word in words {
            assert!(reason.contains(word), "{text}: {reason}");
        }
    }

    #[test]
    fn the_sample_file_holds_every_key_with_its_default() {
        let table: Table = SAMPLE.parse().unwrap();
        let keys = table.iter().flat_map(|(section, keys)| {
            keys.as_table().unwrap().keys().map(|key| (section.as_str(), key.as_str()))
        });
        let mut keys: Vec<_> = keys.collect();
        let mut known: Vec<_> = SETTINGS.iter().map(|&(section, key, _)| (section, key)).collect();
        keys.sort_unstable();
        known.sort_unstable();
        assert_eq!(keys, known);
        let file = File::parse(SAMPLE).unwrap();
        let show = |options: SessionOptions| format!("{options:?}");
        assert_eq!(show(file.session.options()), show(SessionOptions::new()));
        let options = file.server.options(SessionOptions::new());
        assert_eq!(format!("{options:?}"), format!("{:?}", ServerOptions::new()));
    }

    #[test]
    fn an_empty_file_sets_nothing() {
        for text in ["", "# nothing", "[session]\n[server]"] {
            assert_eq!(File::parse(text), Ok(File::default()));
        }
    }

    #[test]
    fn each_key_has_its_place() {
        let text = r#"
            [session]
            wait = "busy"
            spin_bound = "1us"
            cap = "2MiB"
            prefault = 8192
            shrink_after = "3s"
            under_way = "3MiB"
            ring_capacity = 16
            handshake_timeout = "4s"
            call_timeout = "5s"
            [server]
            workers = 6
            offload = 3
            max_sessions = 7
            max_memory = "8MiB"
            max_memory_of_user = "none"
            max_calls_in_flight = 9
            socket_mode = 0o660
        "#;
        let file = File::parse(text).unwrap();
        let seconds = |count| Some(Duration::from_secs(count));
        let session = SessionSettings {
            wait: Some(Wait::Busy),
            spin_bound: Some(Duration::from_micros(1)),
            cap: Some(2 << 20),
            prefault: Some(8192),
            shrink_after: seconds(3),
            under_way: Some(value::UnderWay(Some(3 << 20))),
            ring_capacity: Some(16),
            handshake_timeout: seconds(4),
            call_timeout: Some(value::CallTimeout(seconds(5))),
        };
        assert_eq!(file.session, session);
        let server = ServerSettings {
            workers: Some(6),
            offload: Some(3),
            max_sessions: Some(7),
            max_memory: Some(value::MaxMemory(Some(8 << 20))),
            max_memory_of_user: Some(value::MaxMemory(None)),
            max_calls_in_flight: Some(9),
            socket_mode: Some(0o660),
        };
        assert_eq!(file.server, server);
        let expected = ServerOptions::new()
            .workers(6)
            .offload(3)
            .max_sessions(7)
            .max_memory(8 << 20)
            .max_calls_in_flight(9)
            .socket_mode(0o660);
        let options = file.server.options(SessionOptions::new());
        assert_eq!(format!("{options:?}"), format!("{expected:?}"));
    }

    #[test]
    fn every_bad_value_is_refused_by_key_value_and_range() {
        for (section, key, value, range) in [
            ("session", "wait", "\"never\"", "busy, adaptive or park"),
            ("session", "wait", "1", "busy, adaptive or park"),
            ("session", "spin_bound", "\"2s\"", "0 s to 1 s"),
            ("session", "spin_bound", "100", "such as 100us"),
            ("session", "cap", "0", "1 byte to 1 TiB"),
            ("session", "cap", "-1", "such as 65536"),
            ("session", "cap", "\"2TiB\"", "1 byte to 1 TiB"),
            ("session", "cap", "1.5", "a string or a whole number"),
            ("session", "prefault", "\"2TiB\"", "0 bytes to 1 TiB"),
            ("session", "shrink_after", "\"2h\"", "0 s to 1 h"),
            ("session", "under_way", "0", "1 byte to 1 TiB"),
            ("session", "ring_capacity", "100", "a power of two in 8..=65536"),
            ("session", "ring_capacity", "[8]", "a string or a whole number"),
            ("session", "handshake_timeout", "\"0s\"", "1 ns to 1 h"),
            ("session", "call_timeout", "\"0s\"", "at least 1 ns, or none"),
            ("server", "workers", "0", "1..=1024"),
            ("server", "offload", "1025", "1024"),
            ("server", "workers", "true", "a string or a whole number"),
            ("server", "max_sessions", "1000001", "1..=1000000"),
            ("server", "max_memory", "0", "1 byte to 2^63 bytes"),
            ("server", "max_memory_of_user", "\"some\"", "such as 65536"),
            ("server", "max_calls_in_flight", "0", "1..=16777216"),
            ("server", "socket_mode", "\"999\"", "in octal"),
            ("server", "socket_mode", "512", "in 0o000..=0o777"),
        ] {
            let text = format!("[{section}]\n{key} = {value}\n");
            refused(&text, &[&format!("{section}.{key} = {value}: "), range]);
        }
    }

    #[test]
    fn unknown_keys_and_sections_are_refused_with_those_there_are() {
        refused("[session]\ncapp = 1", &["session.capp = 1", "not known", "cap, prefault"]);
        refused(
            "[server]\ncap = 1",
            &["server.cap = 1", "workers, offload, max_sessions, max_memory, "],
        );
        refused("[sesion]\ncap = 1", &["[sesion] is not known", "[session] and [server]"]);
        refused("[sesion]", &["[sesion] is not known", "[session] and [server]"]);
        refused("cap = 1", &["cap is not a section", "[session] and [server]"]);
    }

    #[test]
    fn invalid_toml_is_refused_with_its_line() {
        refused("[session]\ncap = 64MiB\n", &["line 2"]);
        refused("[session\n", &["line 1"]);
        refused("[session]\ncap = 1\ncap = 2\n", &["line 3"]);
    }
}
