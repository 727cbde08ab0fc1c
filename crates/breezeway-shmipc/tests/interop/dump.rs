//! The regions of upstream's processes, and of this crate's, read from outside while they are
//! stopped.

use breezeway_adversary::stopwatch::eventually;
use breezeway_shmipc::dump::{BufferDump, ProcessDump, QueueDump};
use libtest_mimic::Trial;
use rustix::process::Signal;

use super::folder::Folder;
use super::process::Process;
use super::program::{Program, Sharing};
use super::trial::trial;

/// Returns the regions of a process's only session while it is stopped.
fn regions(process: &Process) -> (QueueDump, BufferDump) {
    process.signal(Signal::STOP);
    let dump = ProcessDump::of(process.pid()).expect("a process of the same user");
    process.signal(Signal::CONT);
    let ProcessDump { mut queues, mut buffers, .. } = dump;
    assert_eq!((queues.len(), buffers.len()), (1, 1), "{queues:?} {buffers:?}");
    (queues.remove(0), buffers.remove(0))
}

/// Both sides map the same regions, so both show the same.
fn both_sides_show_their_session(client: Program, server: Program) {
    for sharing in [Sharing::V2File, Sharing::V3Memfd] {
        let folder = Folder::new();
        let server = server.serve(&folder.socket(), &[]);
        let client = client.client("client", &folder.socket(), &folder.prefix(), sharing);
        let mut client = client.obey();
        assert_eq!(client.ask("exchange 64 1 20"), "done 1280");
        for process in [&client, &server] {
            // The peer may still be about to take the stream's end, and to give slices back.
            eventually("everything is taken and given back", || {
                let (queue, buffer) = regions(process);
                let rings = [queue.to_server, queue.to_client];
                let is_taken = rings.iter().all(|ring| {
                    assert_eq!(ring.capacity, 8192);
                    // The messages, and the stream's end if this side has sent it.
                    (20..=21).contains(&ring.put) && ring.put == ring.taken && ring.depth == 0
                });
                let slices: Vec<_> = buffer.lists.iter().map(|list| list.slices).collect();
                assert_eq!(slices, [2047, 307, 51]);
                let is_whole = buffer
                    .lists
                    .iter()
                    .all(|list| list.whole && list.free.cast_unsigned() == list.reachable);
                is_taken && is_whole
            });
        }
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    use Program::{Go, Ours, Rust};
    let pairs = [
        ("a_shmipc_go_client_and_our_server", Go, Ours),
        ("our_client_and_a_shmipc_go_server", Ours, Go),
        ("a_shmipc_rs_client_and_our_server", Rust, Ours),
    ];
    let trial_of = |(name, client, server)| {
        let name = format!("dump::{name}_show_their_session");
        trial(name, [client, server], move || both_sides_show_their_session(client, server))
    };
    pairs.map(trial_of).into()
}
