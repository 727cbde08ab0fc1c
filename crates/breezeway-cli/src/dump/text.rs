//! Entries as lines for people. Any content may be forged.

use std::fmt;
use std::io::{self, Write};

use breezeway_proto::{Flags, Kind};
use breezeway_shm::Entry;

use super::fields::{FLAGS, has, opens, parts, word};
use super::known::Known;
use crate::printable::bytes;

/// An entry without its body.
pub(super) struct Line<'e> {
    pub(super) entry: &'e Entry,
    pub(super) method: Option<&'e str>,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.entry;
        let tag = entry.tag();
        match Kind::from_number(entry.kind_number()) {
            Some(Kind::Message) => self.message(f),
            Some(Kind::Reset) => write!(f, "reset    stream {}, code {tag}", entry.stream()),
            Some(Kind::Cancel) => write!(f, "cancel   stream {}", entry.stream()),
            Some(Kind::Window) => {
                let bytes = word(entry, 0);
                write!(f, "window   stream {}, {tag} messages, {bytes} bytes", entry.stream())
            }
            Some(Kind::SegmentAdd) => {
                write!(f, "segment  {tag} added, {} bytes", word(entry, 0))
            }
            Some(Kind::SegmentRetire) => write!(f, "segment  {tag} retired"),
            Some(Kind::GoAway) => f.write_str("go-away"),
            Some(Kind::Shutdown) => f.write_str("shutdown"),
            Some(Kind::Deadline) | None => write!(f, "kind {}", entry.kind_number()),
        }
    }
}

impl Line<'_> {
    fn message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.entry;
        let set: Vec<_> =
            FLAGS.iter().filter(|(flag, _)| has(entry, *flag)).map(|(_, name)| *name).collect();
        write!(f, "message  stream {}", entry.stream())?;
        if let Some(number) = opens(entry) {
            write!(f, ", method {number}")?;
        }
        if let Some(name) = self.method {
            write!(f, " {name}")?;
        }
        if has(entry, Flags::ERROR) {
            write!(f, ", code {}", entry.tag())?;
        }
        if has(entry, Flags::LENT) {
            let (first, offset, len) = (word(entry, 0), word(entry, 1), word(entry, 2));
            let (segment, lend) = (first as u32, first >> 32);
            write!(f, ", {len} bytes in segment {segment} at {offset}, lend {lend}")?;
        } else {
            write!(f, ", {} bytes", entry.inline().len())?;
        }
        if !set.is_empty() {
            write!(f, " ({})", set.join(", "))?;
        }
        Ok(())
    }
}

/// Prints the body of a message, as far as the entry holds it: the bytes after its metadata.
pub(super) fn body(entry: &Entry, known: &Known, out: &mut impl Write) -> io::Result<()> {
    let Some((metadata, message)) = parts(entry) else { return Ok(()) };
    if let Some(block) = metadata {
        writeln!(out, "         metadata {}", bytes(block, true))?;
    }
    if let Some(text) = known.decoded(entry, message) {
        for line in text.lines() {
            writeln!(out, "         {line}")?;
        }
        return Ok(());
    }
    writeln!(out, "         {}", bytes(message, false))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use breezeway_shm::Head;

    fn line(kind: Kind, flags: Flags, tag: u32, body: &[u8]) -> String {
        let entry = Entry::new(
            Head { kind: kind as u8, flags: flags.bits(), stream: 7, tag, time: 0 },
            body,
        );
        Line { entry: &entry, method: None }.to_string()
    }

    #[test]
    fn each_entry_kind_prints_its_fields() {
        let call = Flags::OPEN.with(Flags::FIN);
        assert_eq!(
            line(Kind::Message, call, 3, b"four"),
            "message  stream 7, method 3, 4 bytes (open, fin)"
        );
        let descriptor = [2u64 | 5 << 32, 4096, 70_000].map(u64::to_le_bytes).concat();
        assert_eq!(
            line(Kind::Message, Flags::FIN.with(Flags::LENT), 0, &descriptor),
            "message  stream 7, 70000 bytes in segment 2 at 4096, lend 5 (fin, lent)"
        );
        assert_eq!(
            line(Kind::Message, Flags::FIN.with(Flags::ERROR), 8, b""),
            "message  stream 7, code 8, 0 bytes (fin, error)"
        );
        let none = Flags::NONE;
        assert_eq!(line(Kind::Reset, none, 5, b""), "reset    stream 7, code 5");
        assert_eq!(
            line(Kind::Window, none, 5, &9u64.to_le_bytes()),
            "window   stream 7, 5 messages, 9 bytes"
        );
        assert_eq!(line(Kind::SegmentAdd, none, 1, &[]), "segment  1 added, 0 bytes");
        assert_eq!(line(Kind::Shutdown, none, 0, &[]), "shutdown");
    }

    #[test]
    fn no_body_puts_a_control_character_on_the_terminal() {
        let known = Known { idl: None, methods: HashMap::new() };
        for (flags, first) in (0..=u8::MAX).flat_map(|flags| [(flags, flags), (flags, 3)]) {
            // Lengths of metadata that fit and that do not, and all bytes there are.
            let content: Vec<u8> = (0..100).map(|at: u8| first.wrapping_add(at / 2)).collect();
            let head = Head { kind: Kind::Message as u8, flags, stream: 1, tag: 1, time: 0 };
            for len in [0, 1, 2, 3, 17, 100] {
                let entry = Entry::new(head, &content[..len]);
                let mut text = Vec::new();
                body(&entry, &known, &mut text).unwrap();
                let text = String::from_utf8(text).unwrap();
                let is_text = |char: char| char == '\n' || !char.is_control();
                assert!(text.chars().all(is_text), "{text:?}");
                assert!(!Line { entry: &entry, method: None }.to_string().contains('\n'));
            }
        }
    }
}
