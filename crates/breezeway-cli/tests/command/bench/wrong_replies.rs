//! Servers that answer a bench incorrectly: it notices, and fails.

use breezeway::{Call, HandlerError, Replied, Server, Stopper};

use crate::support::{Folder, PATIENCE, PROMPT, Running, bench, is_one_line_of_failure};

/// A server in this process, which ends with the test.
struct Liar {
    folder: Folder,
    stopper: Stopper,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Liar {
    fn start(
        handler: impl Fn(Call<'_>) -> Result<Replied, HandlerError> + Send + Sync + 'static,
    ) -> Self {
        let folder = Folder::new();
        let server = Server::bind(folder.address()).unwrap();
        let stopper = server.stopper();
        let thread = std::thread::spawn(move || server.serve(handler).unwrap());
        Self { folder, stopper, thread: Some(thread) }
    }

    #[track_caller]
    fn is_found_out(&self, arguments: &[&str], words: &[&str]) -> String {
        let output = Running::start(bench(&self.folder.address(), arguments)).ends_within(PATIENCE);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        is_one_line_of_failure(&output, &format!("{arguments:?}"), words);
        String::from_utf8(output.stderr).unwrap()
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn an_echo_with_one_wrong_byte_ends_the_bench_with_status_1() {
    for (size, wrong, extra) in [
        (1, 0, &[][..]),
        (8, 7, &["--depth", "4"]),
        (40, 39, &["--json"]),
        (64, 0, &["--wait", "park"]),
        (104, 103, &["--wait", "busy"]),
        (105, 104, &["--rate", "10000"]),
        (1000, 500, &["--depth", "32"]),
        (4097, 4096, &[]),
        (100_000, 50_001, &["--depth", "2"]),
        (100_000, 99_999, &[]),
    ] {
        let calls = std::sync::atomic::AtomicU64::new(0);
        let liar = Liar::start(move |call: Call<'_>| {
            let mut bytes = call.request().to_vec();
            // The first calls are honest.
            if calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 50 {
                bytes[wrong] ^= 0x10;
            }
            call.reply(&bytes)
        });
        let common = ["--size", &size.to_string(), "--count", "1000"];
        liar.is_found_out(&[&common, extra].concat(), &["reply 50", "differs"]);
    }
}

#[test]
fn an_echo_of_the_wrong_length_ends_the_bench_with_status_1() {
    type Change = fn(&mut Vec<u8>);
    let changes: [Change; 3] = [
        |bytes| {
            bytes.pop();
        },
        |bytes| bytes.push(0),
        Vec::clear,
    ];
    for change in changes {
        for touch in ["all", "none"] {
            let liar = Liar::start(move |call: Call<'_>| {
                let mut bytes = call.request().to_vec();
                change(&mut bytes);
                call.reply(&bytes)
            });
            liar.is_found_out(&["--count", "10", "--touch", touch], &["reply 0", "differs"]);
        }
    }
}

#[test]
fn replies_with_swapped_content_end_the_bench_with_status_1() {
    let last = std::sync::Mutex::new(vec![0; 64]);
    let liar = Liar::start(move |call: Call<'_>| {
        let mut last = last.lock().unwrap();
        let bytes = std::mem::replace(&mut *last, call.request().to_vec());
        drop(last);
        call.reply(&bytes)
    });
    for arguments in [&["--count", "10"][..], &["--count", "10", "--touch", "none"]] {
        liar.is_found_out(arguments, &["differs"]);
    }
}

#[test]
fn sink_with_wrong_count_or_sum_ends_the_bench_with_status_1() {
    for (wrong_count, wrong_sum, words) in
        [(1, 0, "the server confirms"), (u64::MAX, 0, "the server confirms"), (0, 1, "sum")]
    {
        let (count, sum) = (std::sync::Mutex::new(0u64), std::sync::Mutex::new(0u64));
        let liar = Liar::start(move |call: Call<'_>| match call.method() {
            2 => {
                *count.lock().unwrap() += 1;
                let words = call.request().to_vec();
                let mut sum = sum.lock().unwrap();
                for word in words.chunks(8) {
                    let mut bytes = [0; 8];
                    bytes[..word.len()].copy_from_slice(word);
                    *sum = sum.wrapping_add(u64::from_le_bytes(bytes));
                }
                drop(sum);
                call.done()
            }
            _ => {
                let count = *count.lock().unwrap();
                // The first tally, before the run, is honest.
                let lie = u64::from(count > 0);
                let said = [
                    count.wrapping_add(lie * wrong_count),
                    sum.lock().unwrap().wrapping_add(lie * wrong_sum),
                ];
                call.reply(said.map(u64::to_le_bytes).concat())
            }
        });
        let text = liar.is_found_out(&["--pattern", "one-way", "--count", "100"], &[words]);
        if wrong_count != 0 {
            // How many warmed up depends on the time it took.
            let numbers: Vec<u64> =
                text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            let [confirmed, sent] = numbers[..] else { panic!("{text}") };
            assert!(confirmed == sent.wrapping_add(wrong_count) && sent > 100, "{text}");
        }
    }
}

#[test]
fn a_server_that_fails_calls_ends_the_bench_with_its_reason() {
    for (reason, words) in [("out of coffee", "out of coffee"), ("", "failed")] {
        let liar = Liar::start(move |_: Call<'_>| Err(reason.into()));
        liar.is_found_out(&["--count", "10"], &[words]);
        liar.is_found_out(&["--count", "10", "--pattern", "one-way"], &[words]);
    }
}

#[test]
fn reason_with_control_characters_is_printed_in_one_line() {
    let liar = Liar::start(|_: Call<'_>| Err("two\nlines\r\nand \x1b[31mcolour".into()));
    liar.is_found_out(&["--count", "10"], &["two"]);
}

#[test]
fn policy_refusal_ends_the_bench_with_its_reason_in_one_line() {
    for reason in ["not on Sundays", "two\nlines\r\nand \x1b[31mcolour"] {
        let folder = Folder::new();
        let options = breezeway::ServerOptions::new().authorize(move |_| Err(reason.to_owned()));
        let server = Server::bind_with(folder.address(), options).unwrap();
        let stopper = server.stopper();
        let serving =
            std::thread::spawn(move || server.serve(|call: Call<'_>| call.reply(b"never")));
        let output = Running::start(bench(&folder.address(), &[])).ends_within(PROMPT);
        stopper.stop();
        serving.join().unwrap().unwrap();
        is_one_line_of_failure(&output, reason, &["refuses", &reason[..3]]);
    }
}
