//! Dump of the regions of a live process, read from outside: queues and free lists.
//!
//! It serves the purpose of shmipc-go's `DebugQueueDetail` and `DebugBufferListDetail`. The process
//! may be Breezeway's or upstream's, client or server, stopped or stuck; it is not involved and not
//! slowed down. It continues while it is read, so related counts may be some messages apart, and
//! the data is not trusted: regions that break the protocol's rules are not listed.
//!
//! ```
//! use breezeway_shmipc::dump::ProcessDump;
//! # use breezeway_shmipc::{ClientOptions, ServerOptions, Session, Trust};
//! # let server = ServerOptions::new(Trust::SameUser);
//! # let (client, _server) = Session::pair(&ClientOptions::new(Trust::SameUser), &server)?;
//! let mut stream = client.open()?;
//! stream.send(b"never read")?;
//! let dump = ProcessDump::of(std::process::id())?;
//! assert_eq!(dump.queues[0].to_server.depth, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buffer;
mod queue;
mod source;

use std::cell::RefCell;
use std::io;

use breezeway_os::{SharedMemory, shared_mappings};

pub use buffer::{BufferDump, ListDump};
pub use queue::{ElementDump, QueueDump, RingDump};
use source::Source;

/// The regions that a process has mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessDump {
    /// Queue regions, one for each session.
    pub queues: Vec<QueueDump>,
    /// Buffer regions, which sessions may share.
    pub buffers: Vec<BufferDump>,
    /// Shared memory that could not be read, so that it is not known whether regions are among it:
    /// names and errors.
    pub unreadable: Vec<(String, String)>,
}

impl ProcessDump {
    /// Reads the regions of a process of the same user, or of any as root.
    ///
    /// A region without a file name and without a descriptor is read as a debugger would: where the
    /// kernel lets only parents do that (`kernel.yama.ptrace_scope`), it requires root.
    ///
    /// # Errors
    ///
    /// The process does not exist, or the caller may not inspect it.
    pub fn of(pid: u32) -> io::Result<Self> {
        let mut dump = Self::default();
        // A process may have thousands of segments of Breezeway's own carriers, which are not
        // regions, and opening each requires a search among thousands of descriptors.
        let is_other = |name: &str| name.starts_with("/memfd:breezeway ");
        let mappings = shared_mappings(pid)?.into_iter();
        for mapping in mappings.filter(|mapping| !is_other(&mapping.name)) {
            let read = mapping.open().and_then(|memory| dump.add(&mapping.name, &memory));
            if let Err(error) = read {
                dump.unreadable.push((mapping.name, error.to_string()));
            }
        }
        Ok(dump)
    }

    /// Adds the contents of a region, if it is one.
    fn add(&mut self, name: &str, memory: &SharedMemory) -> io::Result<()> {
        let source = Source { memory, failed: RefCell::new(None) };
        let queue = QueueDump::read(name, &source);
        let buffer = if queue.is_none() { BufferDump::read(name, &source) } else { None };
        source.failed.into_inner().map_or(Ok(()), Err)?;
        self.queues.extend(queue);
        self.buffers.extend(buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::layout::buffer::HEAD_AT;
    use crate::layout::queue::NATIVE;
    use crate::options::{ClientOptions, ServerOptions, Trust};
    use crate::session::Session;

    /// A session with a distinct size of its buffer region, and its dump.
    struct Watched {
        client: Session,
        _server: Session,
        size: u32,
    }

    impl Watched {
        fn new(size: u32) -> Self {
            let client = ClientOptions::new(Trust::SameUser).buffer_size(size);
            let server = ServerOptions::new(Trust::SameUser);
            let (client, _server) = Session::pair(&client, &server).unwrap();
            Self { client, _server, size }
        }

        fn buffer(&self) -> Option<BufferDump> {
            let used = self.client.core.layout.used();
            assert!(used < self.size);
            let buffers = ProcessDump::of(std::process::id()).unwrap().buffers;
            buffers.into_iter().find(|buffer| buffer.used == used)
        }
    }

    #[test]
    fn a_list_that_is_cut_or_leads_astray_is_not_whole() {
        let watched = Watched::new(3 << 20);
        let list = watched.client.core.layout.lists()[0];
        let region = &watched.client.core.buffer;
        let dump = || watched.buffer().unwrap().lists[0];
        let fresh = dump();
        assert!(fresh.whole && fresh.reachable == list.count, "{fresh:?}");

        let third = list.area() + 2 * list.stride();
        region.byte(third + crate::layout::buffer::FLAGS_AT).store(0, Ordering::SeqCst);
        assert_eq!((dump().whole, dump().reachable), (false, 3));
        // A circular list.
        region.byte(third + crate::layout::buffer::FLAGS_AT).store(1, Ordering::SeqCst);
        region.word(third + crate::layout::buffer::NEXT_AT).store(0, Ordering::SeqCst);
        assert_eq!((dump().whole, dump().reachable), (false, list.count));
        for nowhere in [1, list.stride() * list.count, u32::MAX] {
            region.word(list.header + HEAD_AT).store(nowhere, Ordering::SeqCst);
            assert_eq!((dump().whole, dump().reachable), (false, 0));
        }
    }

    #[test]
    fn counts_that_make_no_sense_show_no_more_than_fits() {
        let options = ClientOptions::new(Trust::SameUser).queue_capacity(1000);
        let server = ServerOptions::new(Trust::SameUser);
        let (client, _server) = Session::pair(&options, &server).unwrap();
        let ring = || {
            let queues = ProcessDump::of(std::process::id()).unwrap().queues;
            let found = queues.into_iter().find(|queue| queue.to_server.capacity == 1000);
            found.map(|queue| queue.to_client)
        };
        assert_eq!(ring().unwrap().depth, 0);
        let queue = client.core.queue_region();
        let base = queue.len() / 2;
        queue.word(base + NATIVE.head).store(u32::MAX, Ordering::SeqCst);
        let forged = ring().unwrap();
        assert_eq!((forged.depth, forged.waiting.len()), (1000, 256));
        queue.word(base + NATIVE.capacity).store(u32::MAX, Ordering::SeqCst);
        assert_eq!(ring(), None, "no queue");
    }
}
