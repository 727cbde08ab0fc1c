//! Reasons of failed calls, as their callers receive them.

use breezeway_os::segment::SegmentError;
use rustix::io::Errno;

/// Reason sent for a call that was not begun before its server's time to drain was over.
pub(crate) const NOT_BEGUN: &str = "the server ended before it began the call";

/// Returns the message of a panic.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no message)")
}

/// Returns the reason of a reply's failure for lack of memory, short enough for an entry: it names
/// the limit. `error` is that of the refused segment, if one was refused.
pub(crate) fn short_reason(error: Option<&SegmentError>) -> &'static str {
    use breezeway_os::MemoryLimit::OfUser;
    use breezeway_os::segment::SegmentError::{
        Call, FileSize, Limit, NoHeadroom, Private, Uncounted,
    };
    let Some(error) = error else {
        return "no payload memory for the reply: receive replies first, or raise the cap on both \
                sides";
    };
    match error {
        Call { source: Errno::MFILE, .. } => {
            "the server has no descriptor for the reply; raise its limit of open files (ulimit -n)"
        }
        Call { source: Errno::NFILE, .. } => {
            "no descriptor for the reply on the server's machine; raise sysctl fs.file-max"
        }
        Call { source: Errno::TOOMANYREFS, .. } => {
            "too many descriptors of the server wait in unread sockets; raise its ulimit -n"
        }
        Limit { limit: OfUser { .. }, .. } => {
            "this user holds as much as the server's max_memory_of_user allows; raise it, or \
             release some"
        }
        Limit { .. } => {
            "clients hold as much as the server's max_memory allows; raise it, or let some be \
             released"
        }
        NoHeadroom { .. } => {
            "no room for the reply in the server's memory cgroup; raise its limit or lower the cap"
        }
        FileSize { .. } => {
            "the reply exceeds the server's limit of file sizes, RLIMIT_FSIZE; raise it (ulimit -f)"
        }
        Private { .. } => {
            "no private memory for the reply; raise the server's RLIMIT_AS (ulimit -v), or free \
             some"
        }
        Uncounted { .. } => {
            "inotify watches no more for the server; raise sysctl fs.inotify.max_user_watches"
        }
        _ => "the server got no memory for the reply from its kernel; free some, or lower the cap",
    }
}

#[cfg(test)]
mod tests {
    use breezeway_os::MemoryLimit;
    use breezeway_shm::layout::INLINE_MAX;

    use super::*;

    #[test]
    fn every_reason_fits_an_entry_and_names_a_remedy() {
        let (size, taken, limit) = (1, 1, 1);
        let call = |source| SegmentError::Call { call: "memfd_create", size, source };
        let of = |limit| SegmentError::Limit { size, limit };
        let of_user = MemoryLimit::OfUser { user: None, taken, limit };
        let file = "memory.max".to_owned();
        for (error, knob) in [
            (call(Errno::MFILE), "ulimit -n"),
            (call(Errno::NFILE), "fs.file-max"),
            (call(Errno::TOOMANYREFS), "ulimit -n"),
            (call(Errno::NOMEM), "cap"),
            (of(MemoryLimit::Total { taken, limit }), "max_memory "),
            (of(of_user), "max_memory_of_user"),
            (SegmentError::NoHeadroom { size, headroom: 0, file }, "cgroup"),
            (SegmentError::Uncounted { size, source: Errno::NOSPC }, "max_user_watches"),
        ] {
            let said = short_reason(Some(&error));
            assert!(said.len() <= INLINE_MAX && said.contains(knob), "{}: {said}", said.len());
        }
        let said = short_reason(None);
        assert!(said.len() <= INLINE_MAX && said.contains("raise the cap"), "{said}");
    }
}
