//! Keeps a peer that truncates its memory from taking this process with it.
//!
//! A page behind the end of a file raises SIGBUS in whoever touches it, and shmipc peers do not
//! seal their memfds. Of the ways to survive that, a system call per access (`process_vm_readv`,
//! `pread`) costs several hundred nanoseconds, cannot do the atomic operations that the queues and
//! free lists need, and cannot guard a slice that the application holds. So there is a signal
//! handler: on a fault inside one of our regions it maps private zero pages over the whole region
//! and marks it lost, and the faulting instruction is repeated. Nothing is paid until that happens.
//! Whoever next asks finds the region lost and ends the session. (The idea is libwayland's
//! `wl_shm_buffer_begin_access`.)
//!
//! A fault elsewhere, or a signal that somebody sent, is none of our business: it goes to the
//! handler that was there before, is ignored, or kills the process, as it would have without us.
//! While the process lives our handler stays, also where the one before gives up: what Rust's
//! runtime installs takes itself off when it is called, and leaves the default action for the next
//! time.
//!
//! The handler may run in any thread at any instruction, so it takes no lock, allocates nothing,
//! and follows a list whose places are never freed.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use crate::watched_range::WatchedRange;

/// The address has no memory behind it, from `asm-generic/siginfo.h`: a file's end. Other causes,
/// such as broken memory or a signal that was sent, are not ours.
const BUS_ADRERR: libc::c_int = 2;
/// Memory is broken that nobody has touched: reported to who asked for it, and may be ignored.
const BUS_MCEERR_AO: libc::c_int = 5;

/// One watched address range. Places are reused, never freed, so that the handler can walk them at
/// any time.
struct Watch {
    taken: AtomicBool,
    range: WatchedRange,
    lost: AtomicBool,
    next: AtomicPtr<Watch>,
}

/// The newest watch; each leads to the one before.
static WATCHES: AtomicPtr<Watch> = AtomicPtr::new(std::ptr::null_mut());

/// What handled SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Our handler, as it is installed.
static OURS: OnceLock<libc::sigaction> = OnceLock::new();

/// What would handle SIGBUS now if we did not: the handler from [`BEFORE`], `SIG_IGN`, or
/// `SIG_DFL`, which a handler may become when it is called.
static BEHIND_US: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

/// An address range whose faults are covered; forgotten when dropped.
pub(crate) struct Guard {
    watch: &'static Watch,
}

impl Guard {
    /// Bears faults in `len` bytes from `start`, which must stay mapped until the guard is dropped:
    /// the handler maps over them.
    pub(crate) fn watch(start: usize, len: usize) -> io::Result<Self> {
        install()?;
        let watch = free_watch().unwrap_or_else(new_watch);
        watch.lost.store(false, Ordering::Relaxed);
        watch.range.set(start, len);
        Ok(Self { watch })
    }

    /// Whether a fault happened: then the region shows zeros from there on, and no longer what the
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

/// Every watch, newest first.
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

/// As many are made as regions ever exist at once.
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

/// Installs the handler, once per process. A handler that something else installs afterwards must
/// pass on what is not its own.
fn install() -> io::Result<()> {
    static OUTCOME: OnceLock<Result<(), i32>> = OnceLock::new();
    let outcome = OUTCOME.get_or_init(|| {
        // SAFETY: a sigaction is plain integers, for which zeros are valid; the calls read and
        // write these locals only. What was there before is kept before the handler can run for the
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
            // What the handler before us must not be interrupted by.
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

/// The handler: async-signal-safe, see the top of the file.
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

/// Maps zero pages over the region that `address` lies in; false if it lies in none.
fn cover(address: usize) -> bool {
    let found = watches().find_map(|watch| {
        let (start, len) = watch.range.get()?;
        (len > 0 && address.wrapping_sub(start) < len).then_some((watch, start, len))
    });
    let Some((watch, start, len)) = found else { return false };
    watch.lost.store(true, Ordering::Release);
    // SAFETY: the range is one of our mappings, whole and page-aligned; the faulting thread holds
    // the region, so it is not unmapped meanwhile. Its bytes are only ever accessed as atomics, by
    // opaque copies, or as slices whose owner vouched for the peer, all of which tolerate a change
    // of content. mmap is a bare system call.
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

/// Does with a signal that is none of our business what would have been done with it without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let code = unsafe { (*info).si_code };
    // The kernel's own signals have positive codes. It lets nobody ignore a fault.
    let may_be_ignored = code <= 0 || code == BUS_MCEERR_AO;
    match BEHIND_US.load(Ordering::Acquire) {
        libc::SIG_IGN if may_be_ignored => {}
        libc::SIG_DFL | libc::SIG_IGN => die(signal, info),
        handler => call_before_us(handler, signal, info, context),
    }
}

/// Calls the handler before us, and keeps ours in place if that takes the signal off itself.
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
    // A handler that it installed instead has to pass on what is not its own, as any that comes
    // later. These two cannot, so they take its place behind us.
    let left = disposition(signal).sa_sigaction;
    if !is_handler(left) {
        BEHIND_US.store(left, Ordering::Release);
        restore(signal, &installed);
    }
}

/// Whether a disposition is a function, which may pass a signal on to us.
fn is_handler(disposition: usize) -> bool {
    !matches!(disposition, libc::SIG_DFL | libc::SIG_IGN)
}

/// Puts back what was installed a moment ago. No handler was if one before us is being called in
/// another thread as well and has taken the signal off itself there: then ours, so that whichever
/// thread is the last leaves the protection.
fn restore(signal: libc::c_int, installed: &libc::sigaction) {
    let handler = Some(installed).filter(|installed| is_handler(installed.sa_sigaction));
    let Some(handler) = handler.or(OURS.get()) else { return };
    // SAFETY: the call reads what the kernel or `install` wrote there, which is a handler.
    unsafe { libc::sigaction(signal, std::ptr::from_ref(handler), std::ptr::null_mut()) };
}

/// What is installed for `signal`.
fn disposition(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: a sigaction is plain integers, for which zeros are valid; the call writes this local
    // only.
    unsafe {
        let mut installed: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut installed);
        installed
    }
}

/// The default action, with the same cause: it comes when this handler returns and the signal is
/// let through again, so a core dump shows the instruction that was interrupted. A fault would
/// repeat itself, a signal that was sent would not; without being raised again it would only take
/// our handler off.
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
