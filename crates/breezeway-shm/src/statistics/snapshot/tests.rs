use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use breezeway_os::{Peer, WaitPolicy};
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap};

use super::super::{Description, Meter};
use super::*;
use crate::ring::layout::{LENT, MESSAGE};

const RESET: u8 = 2;
const WINDOW: u8 = 4;
const OPEN: u8 = 0x01;
const FIN: u8 = 0x02;
const ERROR: u8 = 0x08;
const NO_REPLY: u8 = 0x10;
const STREAM: u8 = 0x80;

fn description() -> Description {
    Description {
        role: Role::Server,
        carrier: 1,
        policy: WaitPolicy::Park,
        shared: true,
        peer: Some(Peer {
            pid: Some(77),
            uid: Some(1000),
            gid: None,
            remote: None,
            identity: None,
        }),
        cap: 1 << 20,
        rings: [64, 256],
        max_in_flight: 32,
    }
}

fn own_file() -> StatisticsFile {
    StatisticsFile::open(std::process::id()).unwrap().expect("there was a session")
}

fn seen(number: u64) -> Option<Record> {
    let records = own_file().read().unwrap().records;
    records.into_iter().find(|record| record.number == number)
}

#[test]
fn record_is_visible_outside_until_session_ends() {
    let mut meter = Meter::new(&description());
    let number = meter.record().number;
    let call = OPEN | FIN;
    let kind = MESSAGE;
    meter.received(kind, call, 40);
    meter.received(kind, call | LENT, 5_000);
    meter.received(kind, call | NO_REPLY, 3);
    meter.received(kind, OPEN | STREAM, 0);
    meter.received(kind, 0, 1);
    meter.received(WINDOW, 0, 0);
    meter.sent(kind, FIN, 10);
    meter.sent(kind, FIN | ERROR, 6);
    meter.sent(RESET, 0, 0);
    meter.sent(kind, 0, 1);
    meter.waits(WaitsFor::Memory);

    let record = seen(number).expect("it lives");
    assert_eq!(record, meter.record());
    assert_eq!(
        (record.role, record.carrier, record.policy, record.shared),
        (Role::Server, 1, 2, true)
    );
    assert_eq!((record.peer_pid, record.peer_uid), (Some(77), Some(1000)));
    assert_eq!((record.cap, record.rings, record.max_in_flight), (1 << 20, [64, 256], 32));
    let totals = record.totals;
    assert_eq!((totals.calls_received, totals.posts_received), (2, 1));
    assert_eq!((totals.streams_received, totals.messages_received), (1, 1));
    assert_eq!((totals.controls_received, totals.bytes_received), (1, 5_044));
    assert_eq!((totals.ends_sent, totals.errors_sent, totals.bytes_sent), (1, 2, 17));
    assert_eq!(WaitsFor::from_number(totals.waits_for), Some(WaitsFor::Memory));
    assert!(totals.waits_since >= record.since);

    meter.received(kind, call, 0);
    assert_eq!(seen(number).unwrap().totals.waits_for, 0, "a message ends a wait");
    drop(meter);
    assert_eq!(seen(number), None);
}

#[test]
fn how_long_handlers_took_is_seen_from_outside() {
    let meter = Meter::new(&description());
    let number = meter.record().number;
    assert!(!own_file().read().unwrap().times.contains_key(&number), "nothing is known yet");
    let times = meter.handler_times().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..250).for_each(|_| times.note(1_000)));
        }
    });
    times.note(1_000_000);
    let read = own_file().read().unwrap();
    let seen = &read.times[&number];
    assert_eq!((seen.count(), meter.totals().timed), (1_001, 1_001));
    assert_eq!((seen.percentile(99), seen.percentile(100)), (Some(960), Some(983_040)));

    // The next one that has the record knows nothing of it, and a handler that ends late notes
    // nothing.
    drop(meter);
    times.note(1_000);
    for _ in 0..3 {
        let next = Meter::new(&description());
        times.note(1_000);
        let read = own_file().read().unwrap();
        assert!(!read.times.contains_key(&next.record().number));
        next.handler_times().unwrap().note(5_000);
        let read = own_file().read().unwrap();
        assert_eq!(read.times[&next.record().number].count(), 1);
    }
}

#[test]
fn a_file_of_a_process_that_times_nothing_is_read_as_before() {
    let mut file = header(VERSION, 512, 1, 1);
    let mut record = [0; RECORD_SIZE];
    record[..8].copy_from_slice(&2u64.to_le_bytes());
    record[16] = 2;
    file.extend(record);
    let read = forged(&file).unwrap();
    assert_eq!((read.records.len(), read.times.len(), read.records[0].totals.timed), (1, 0, 0));
}

#[test]
fn a_record_that_is_used_again_begins_anew() {
    for _ in 0..3 {
        let mut meter = Meter::new(&description());
        let record = seen(meter.record().number).expect("it lives");
        assert_eq!(record.totals, Totals::default());
        meter.received(MESSAGE, 0, 9);
        meter.waits(WaitsFor::Room);
    }
}

#[test]
fn file_is_not_writable_by_others() {
    let _meter = Meter::new(&description());
    let named = |path: &std::path::PathBuf| {
        std::fs::read_link(path)
            .is_ok_and(|name| name.starts_with("/memfd:breezeway-stats (deleted)"))
    };
    let own = || -> Vec<_> {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        entries.map(|entry| entry.path()).filter(named).collect()
    };
    // Tests that begin at the same time may make one file each, of which one stays.
    let until = Instant::now() + Duration::from_secs(60);
    let paths = loop {
        let paths = own();
        if paths.len() == 1 {
            break paths;
        }
        assert!(Instant::now() < until, "one descriptor a process: {paths:?}");
        std::thread::yield_now();
    };
    let mut file = OpenOptions::new().read(true).write(true).open(&paths[0]).unwrap();
    assert!(file.write_all(b"forged").is_err());
    assert!(file.set_len(0).is_err());
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: it fails, and a new mapping would alias no Rust object.
    let mapped = unsafe { mmap(std::ptr::null_mut(), 4096, rights, MapFlags::SHARED, &file, 0) };
    assert!(mapped.is_err());
}

#[test]
fn undescribed_endpoint_has_a_record() {
    let meter = Meter::unlisted();
    meter.sent(MESSAGE, 0, 9);
    let record = meter.record();
    assert_eq!((record.role, record.number, record.totals.bytes_sent), (Role::Client, 0, 9));
}

#[test]
fn simultaneous_first_sessions_are_all_visible() {
    let barrier = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let meter = Meter::new(&description());
                assert!(seen(meter.record().number).is_some());
            });
        }
    });
}

#[test]
fn file_has_its_magic_once_a_record_is_taken() {
    let table = super::super::table::Table::new(c"breezeway-unused").unwrap();
    let read = || {
        let mappings = shared_mappings(std::process::id()).unwrap();
        let named = |mapping: &breezeway_os::SharedMapping| {
            mapping.name == "/memfd:breezeway-unused (deleted)"
        };
        let mapping = mappings.into_iter().find(named).unwrap();
        StatisticsFile { memory: mapping.open().unwrap() }.read()
    };
    assert_eq!(read().unwrap_err().to_string(), "it is not a file of statistics");
    table.take().unwrap();
    assert_eq!(read().unwrap().opened, 1);
}

/// Reads a forged statistics file.
fn forged(bytes: &[u8]) -> io::Result<ProcessStatistics> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let label = format!("forged-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let mut file = File::from(memfd_create(label.as_str(), MemfdFlags::CLOEXEC).unwrap());
    file.write_all(bytes).unwrap();
    let len = bytes.len().max(1);
    // SAFETY: a new mapping aliases nothing, and is never touched.
    let address = unsafe {
        mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, &file, 0).unwrap()
    };
    let mappings = shared_mappings(std::process::id()).unwrap();
    let name = format!("/memfd:{label} (deleted)");
    let mapping = mappings.into_iter().find(|mapping| mapping.name == name).unwrap();
    let outcome = StatisticsFile { memory: mapping.open().unwrap() }.read();
    // SAFETY: it was made above, and nothing points into it.
    unsafe { rustix::mm::munmap(address, len).unwrap() };
    outcome
}

fn header(version: u64, record_size: u64, capacity: u64, used: u64) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_SIZE];
    for (index, value) in [MAGIC, version, record_size, capacity, used].into_iter().enumerate() {
        bytes[8 * index..8 * index + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn truncated_file_is_read_up_to_its_end() {
    let mut bytes = header(VERSION, 512, u64::MAX, u64::MAX);
    let mut record = [0xff; RECORD_SIZE];
    record[..8].copy_from_slice(&2u64.to_le_bytes());
    record[16] = 1;
    bytes.extend(record);
    bytes.extend(&record[..100]);
    let read = forged(&bytes).unwrap();
    assert_eq!(read.records.len(), 1);
    assert_eq!(read.records[0].totals.bytes_sent, u64::MAX);
    assert_eq!(read.records[0].in_flight(), 1);
    assert!(forged(&header(VERSION, 512, 4, 4)).unwrap().records.is_empty(), "no records");
}

#[test]
fn other_files_and_other_versions_are_refused() {
    for (bytes, reason) in [
        (vec![], "failed to fill whole buffer"),
        (vec![0; 10], ""),
        (vec![0; 10_000], "it is not a file of statistics"),
        (header(VERSION + 1, 512, 4, 4), "its statistics are of another version"),
        (header(VERSION, 8, 4, 4), "its statistics are of another version"),
    ] {
        let error = forged(&bytes).unwrap_err();
        assert!(bytes.len() < 64 || error.to_string() == reason, "{error}");
    }
}

#[test]
fn a_record_that_changed_hands_while_it_was_read_is_left_out() {
    let head = || Head { since: 0, opened: 0, unrecorded: 0, used: 1, times: None };
    let record = |sequence: u64, role: u8| {
        let mut bytes = vec![0; RECORD_SIZE];
        bytes[..8].copy_from_slice(&sequence.to_le_bytes());
        bytes[16] = role;
        bytes
    };
    let count = |first: (u64, u8), second: (u64, u8)| {
        let (before, after) = (record(first.0, first.1), record(second.0, second.1));
        let mut between = record(9, second.1);
        between[8] = 5;
        let times = HashMap::from([(5, Times::default()), (6, Times::default())]);
        let read = head().with(&before, &between, &after, times);
        let records = read.records;
        assert_eq!(read.times.len(), records.len(), "of those that are left");
        assert!(records.iter().all(|record| record.number == 5), "as it was in between");
        records.len()
    };
    assert_eq!(count((2, 1), (2, 1)), 1);
    assert_eq!(count((2, 1), (4, 1)), 0);
    assert_eq!(count((3, 1), (3, 1)), 0, "free");
    assert_eq!(count((0, 1), (0, 1)), 0, "never used");
    assert_eq!(count((2, 1), (2, 9)), 0, "of a role that is not known");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_bytes_behind_header_are_parsed(
        used: u64,
        bytes in proptest::collection::vec(any::<u8>(), 0..5_000),
    ) {
        let mut file = header(VERSION, 512, u64::MAX, used);
        file.extend(&bytes);
        let read = forged(&file).unwrap();
        prop_assert!(read.records.len() <= bytes.len() / RECORD_SIZE);
        for record in read.records {
            record.in_flight();
            WaitsFor::from_number(record.totals.waits_for);
        }
    }

    #[test]
    fn arbitrary_bytes_of_times_are_parsed(
        timed: u64,
        offset in prop_oneof![any::<u64>(), 0..20_000u64],
        size in prop_oneof![Just(TIMES_SIZE as u64), any::<u64>()],
        bytes in proptest::collection::vec(any::<u8>(), 0..5_000),
    ) {
        let mut file = header(VERSION, 512, 1, 1);
        file[64..72].copy_from_slice(&offset.to_le_bytes());
        file[72..80].copy_from_slice(&size.to_le_bytes());
        let mut record = [0; RECORD_SIZE];
        record[..8].copy_from_slice(&2u64.to_le_bytes());
        record[16] = 2;
        record[Field::Timed.offset()..][..8].copy_from_slice(&timed.to_le_bytes());
        file.extend(record);
        file.extend(&bytes);
        let there = timed != 0 && size == TIMES_SIZE as u64
            && offset.checked_add(size).is_some_and(|end| end <= file.len() as u64);
        let read = forged(&file).unwrap();
        prop_assert_eq!((read.records.len(), read.times.len()), (1, usize::from(there)));
        for times in read.times.values() {
            prop_assert!(times.percentile(50) <= times.percentile(99));
        }
    }

    #[test]
    fn arbitrary_header_is_parsed_or_refused(bytes: [[u8; 16]; 5]) {
        let bytes: [u8; HEAD_SIZE] = bytes.concat().try_into().unwrap();
        prop_assert!(Head::parse(&bytes).is_err() || bytes.starts_with(b"BRZWSTAT"));
    }
}
