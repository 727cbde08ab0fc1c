//! Protection of this process from a peer that truncates its memory.
//!
//! A page behind the end of a file raises SIGBUS on access, and shmipc peers do not seal their
//! memfds. Of the ways to survive that, a system call per access (`process_vm_readv`, `pread`) is
//! slow, cannot do the atomic operations that the queues and free lists need, and cannot guard a
//! slice that the application holds. So there is a signal handler: on a fault inside one of our
//! regions it maps private zero pages over the whole region and marks it lost, and the faulting
//! instruction is repeated. It costs nothing until that happens. The next check finds the region
//! lost and ends the session. (The idea is libwayland's `wl_shm_buffer_begin_access`.)
//!
//! A fault elsewhere, or a signal sent by a process, is not handled here: it goes to the handler
//! that was installed before, is ignored, or kills the process, as it would have without this
//! module. While the process lives our handler stays, also where the earlier handler gives up:
//! Rust's runtime's handler uninstalls itself when it is called, and leaves the default action for
//! the next time.
//!
//! The handler may run in any thread at any instruction, so it takes no lock, allocates nothing,
//! and follows a list whose places are never freed.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::watched_range::WatchedRange;

/// Cause of a fault on an address without memory, the end of a file, from `asm-generic/siginfo.h`.
/// Other causes, such as broken memory or a signal that was sent, are not handled here.
const BUS_ADRERR: libc::c_int = 2;
/// Cause of a signal for broken memory that was not accessed: reported on request, and may be
/// ignored.
const BUS_MCEERR_AO: libc::c_int = 5;

/// One watched address range. Places are reused, never freed, so that the handler can walk them at
/// any time.
struct Watch {
    taken: AtomicBool,
    range: WatchedRange,
    lost: AtomicBool,
    next: AtomicPtr<Watch>,
}

/// The newest watch; each links to the one before.
static WATCHES: AtomicPtr<Watch> = AtomicPtr::new(std::ptr::null_mut());

/// Action for SIGBUS before installation.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Our handler, as it is installed.
static OURS: OnceLock<libc::sigaction> = OnceLock::new();

/// Action for SIGBUS without our handler: the handler from [`BEFORE`], `SIG_IGN`, or `SIG_DFL`,
/// which a handler may become when it is called.
static BEHIND_US: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// An address range whose faults are covered, until it is dropped.
pub(crate) struct Guard {
    watch: &'static Watch,
}

impl Guard {
    /// Covers faults in `len` bytes from `start`, which must stay mapped until the guard is
    /// dropped: the handler maps over them.
    pub(crate) fn watch(start: usize, len: usize) -> io::Result<Self> {
        install()?;
        let watch = free_watch().unwrap_or_else(new_watch);
        watch.lost.store(false, Ordering::Relaxed);
        watch.range.set(start, len);
        Ok(Self { watch })
    }

    /// Returns true after a fault: the region then shows zeros, and no longer the bytes that the
    /// peer writes.
    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.watch.lost.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.watch.range.set(0, 0);
        self.watch.taken.store(false, Ordering::Release);
    }
}

/// Returns every watch, newest first.
fn watches() -> impl Iterator<Item = &'static Watch> {
    let mut next = WATCHES.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: places come from leaked boxes and are published after they are complete, so every
        // pointer in the list is null or valid for ever.
        let watch: &'static Watch = unsafe { next.as_ref() }?;
        next = watch.next.load(Ordering::Acquire);
        Some(watch)
    })
}

fn free_watch() -> Option<&'static Watch> {
    watches().find(|watch| {
        watch.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    })
}

/// Creates a watch. There are as many as regions ever exist at the same time.
fn new_watch() -> &'static Watch {
    let watch: &'static Watch = Box::leak(Box::new(Watch {
        taken: AtomicBool::new(true),
        range: WatchedRange::new(),
        lost: AtomicBool::new(false),
        next: AtomicPtr::new(std::ptr::null_mut()),
    }));
    let pointer = std::ptr::from_ref(watch).cast_mut();
    let mut head = WATCHES.load(Ordering::Relaxed);
    loop {
        watch.next.store(head, Ordering::Relaxed);
        match WATCHES.compare_exchange(head, pointer, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return watch,
            Err(newer) => head = newer,
        }
    }
}

/// Installs the handler, once per process. A handler that is installed later must pass on signals
/// that are not its own.
fn install() -> io::Result<()> {
    static OUTCOME: OnceLock<Result<(), i32>> = OnceLock::new();
    let outcome = OUTCOME.get_or_init(|| {
        // SAFETY: a sigaction is plain integers, for which zeros are valid; the calls read and
        // write these locals only. The earlier action is stored before the handler can run for the
        // first time, since the query comes first, and so is ours.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) != 0 {
                return Err(errno());
            }
            BEHIND_US.store(before.sa_sigaction, Ordering::Release);
            let _ = BEFORE.set(before);
            let mut ours: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                handle;
            ours.sa_sigaction = handler as libc::sighandler_t;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            // The signals that must not interrupt the earlier handler.
            ours.sa_mask = before.sa_mask;
            let _ = OURS.set(ours);
            if libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) != 0 {
                return Err(errno());
            }
        }
        Ok(())
    });
    outcome.map_err(io::Error::from_raw_os_error)
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)
}

/// Handles the signal; async-signal-safe, see the top of the file.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo, and SIGBUS fills in the address; errno is a
    // thread-local integer, put back as it was.
    unsafe {
        let saved = *libc::__errno_location();
        let covered = (*info).si_code == BUS_ADRERR && cover((*info).si_addr() as usize);
        if !covered {
            pass_on(signal, info, context);
        }
        *libc::__errno_location() = saved;
    }
}

/// Maps zero pages over the region that contains `address`. Returns false if there is none.
fn cover(address: usize) -> bool {
    let found = watches().find_map(|watch| {
        let (start, len) = watch.range.get()?;
        (len > 0 && address.wrapping_sub(start) < len).then_some((watch, start, len))
    });
    let Some((watch, start, len)) = found else { return false };
    watch.lost.store(true, Ordering::Release);
    // SAFETY: the range is one of our mappings, whole and page-aligned; the faulting thread holds
    // the region, so it is not unmapped at the same time. Its bytes are only ever accessed as
    // atomics, by opaque copies, or as slices whose owner vouched for the peer, all of which
    // tolerate a change of content. mmap is a bare system call.
    let mapped = unsafe {
        libc::mmap(
            start as *mut libc::c_void,
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// Passes on a signal that is not handled here, as if our handler were not installed.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let code = unsafe { (*info).si_code };
    // The kernel's own signals have positive codes. It does not let a fault be ignored.
    let may_be_ignored = code <= 0 || code == BUS_MCEERR_AO;
    match BEHIND_US.load(Ordering::Acquire) {
        libc::SIG_IGN if may_be_ignored => {}
        libc::SIG_DFL | libc::SIG_IGN => die(signal, info),
        handler => call_before_us(handler, signal, info, context),
    }
}

/// Calls the earlier handler, and keeps ours installed if that uninstalls itself.
fn call_before_us(
    handler: usize,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let flags = BEFORE.get().map_or(0, |before| before.sa_flags);
    if flags & libc::SA_RESETHAND != 0 {
        BEHIND_US.store(libc::SIG_DFL, Ordering::Release);
    }
    let installed = disposition(signal);
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: the kernel recorded this address as a handler of three arguments, and BEHIND_US
        // never holds another one.
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: the kernel recorded this address as a handler of one argument, and BEHIND_US
        // never holds another one.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
    // A handler that it installed instead has to pass on signals that are not its own, like any
    // later one. SIG_DFL and SIG_IGN cannot, so they take its place behind ours.
    let left = disposition(signal).sa_sigaction;
    if !is_handler(left) {
        BEHIND_US.store(left, Ordering::Release);
        restore(signal, &installed);
    }
}

/// Returns true if a disposition is a function, which may pass a signal on to ours.
fn is_handler(disposition: usize) -> bool {
    !matches!(disposition, libc::SIG_DFL | libc::SIG_IGN)
}

/// Restores the action that was installed a moment ago. If that was not a handler, the earlier
/// handler is being called in another thread as well and has uninstalled itself there: then ours is
/// installed, so that the last thread leaves the protection in place.
fn restore(signal: libc::c_int, installed: &libc::sigaction) {
    let handler = Some(installed).filter(|installed| is_handler(installed.sa_sigaction));
    let Some(handler) = handler.or(OURS.get()) else { return };
    // SAFETY: the call reads what the kernel or `install` wrote there, which is a handler.
    unsafe { libc::sigaction(signal, std::ptr::from_ref(handler), std::ptr::null_mut()) };
}

/// Returns the action installed for `signal`.
fn disposition(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: a sigaction is plain integers, for which zeros are valid; the call writes this local
    // only.
    unsafe {
        let mut installed: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut installed);
        installed
    }
}

/// Takes the default action, with the same cause: it comes when this handler returns and the signal
/// is unblocked, so a core dump shows the interrupted instruction. A fault would repeat itself, a
/// signal that was sent would not; without being raised again it would only uninstall our handler.
fn die(signal: libc::c_int, info: *mut libc::siginfo_t) {
    // SAFETY: a zeroed sigaction is the default action; the system calls read this local and the
    // siginfo that the kernel made, and raise a signal in this thread.
    unsafe {
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &raw const default, std::ptr::null_mut());
        let (process, thread) = (libc::getpid(), libc::gettid());
        let raised = libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info);
        if raised != 0 {
            libc::raise(signal);
        }
    }
}
