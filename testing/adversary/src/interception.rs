//! System calls of a process that another one answers: seccomp_unotify(2), Linux 5.5 or newer.
//!
//! The watched process installs a filter and sends its descriptor through standard input, a socket,
//! to the process that started it. From then on the named calls of all its threads stop until the
//! watching process continues or fails them. In contrast to `strace --inject` calls are counted
//! over all threads, and failures begin and end while the process runs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::thread::set_no_new_privs;

use crate::socket;

/// Calls of a number that are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Calls with a descriptor other than standard input, output and error as first argument.
    NotStandard,
    /// `mmap` calls of files, and those that reserve addresses. Memory for the allocator, which
    /// ends with the process, is left out.
    NotOfAllocator,
}

/// Offsets in the data of a filter (`struct seccomp_data`).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}
/// `AUDIT_ARCH_X86_64`, from linux/audit.h.
const X86_64: u32 = 0xc000_003e;

fn load(offset: u32) -> libc::sock_filter {
    let code = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    libc::sock_filter { code, jt: 0, jf: 0, k: offset }
}

/// Continues with the next instruction if the condition holds, else skips `skip` of them.
fn require(condition: u32, value: u32, skip: u8) -> libc::sock_filter {
    let code = (libc::BPF_JMP | condition | libc::BPF_K) as u16;
    libc::sock_filter { code, jt: 0, jf: skip, k: value }
}

fn decide(action: u32) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: action }
}

fn program(calls: &[(i64, Which)]) -> Vec<libc::sock_filter> {
    let (stop, pass) = (decide(libc::SECCOMP_RET_USER_NOTIF), decide(libc::SECCOMP_RET_ALLOW));
    let foreign = libc::sock_filter { jt: 1, jf: 0, ..require(libc::BPF_JEQ, X86_64, 0) };
    let mut program = vec![load(ARCHITECTURE), foreign, pass, load(NUMBER)];
    for &(number, which) in calls {
        let judged: Vec<_> = match which {
            Which::All => vec![stop],
            Which::NotStandard => {
                vec![load(argument(0)), require(libc::BPF_JGT, 2, 1), stop, pass]
            }
            Which::NotOfAllocator => vec![
                load(argument(2)),
                require(libc::BPF_JEQ, 0, 1),
                stop,
                load(argument(4)),
                // Descriptors are never negative.
                require(libc::BPF_JGE, 0x8000_0000, 1),
                pass,
                stop,
            ],
        };
        program.push(require(libc::BPF_JEQ, number as u32, judged.len() as u8));
        program.extend(judged);
    }
    program.push(pass);
    program
}

/// Installs a filter in this process, which has one thread, and sends the filter's descriptor
/// through standard input.
///
/// # Errors
///
/// Fails if the kernel does not support filters, or denies one to this process.
pub fn be_intercepted(calls: &[(i64, Which)]) -> io::Result<()> {
    let listener = install(calls)?;
    socket::send(io::stdin(), b"l", &[listener.as_fd()])?;
    Ok(())
}

/// Runs `act` in a thread of its own. `judge` sees the named calls of that thread before the kernel
/// does, and chooses the errors that they return. Other threads of this process run as usual.
///
/// # Errors
///
/// Fails if the kernel does not support such filters, or denies one to this process.
///
/// # Panics
///
/// Panics if `act` does.
pub fn with_faults<T: Send>(
    calls: &[(i64, Which)],
    mut judge: impl FnMut(&Stopped) -> Option<Errno>,
    act: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    // With room from the start: to make some would be a call that stops.
    let (sender, listener) = mpsc::sync_channel(1);
    thread::scope(|scope| {
        let acting = scope.spawn(move || {
            sender.send(install(calls)?).map_err(io::Error::other)?;
            Ok(act())
        });
        // Polled for: to wake this thread would be the first call that stops, if it is named.
        let listener = loop {
            match listener.try_recv() {
                Err(TryRecvError::Empty) => thread::yield_now(),
                outcome => break outcome,
            }
        };
        if let Ok(listener) = listener {
            let interceptor = Interceptor(listener);
            // Ends with an error, that no thread is left.
            while let Ok(call) = interceptor.next(100) {
                let Some(call) = call else { continue };
                match judge(&call) {
                    Some(errno) => interceptor.fail(&call, errno),
                    None => interceptor.go_on(&call),
                }
            }
        }
        acting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Installs a filter in this thread; returns the descriptor that it reports to.
fn install(calls: &[(i64, Which)]) -> io::Result<OwnedFd> {
    set_no_new_privs(true)?;
    let mut program = program(calls);
    let filter =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    // SAFETY: the kernel reads the program, which lives until after the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const filter,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// A call that waits for a decision.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    id: u64,
    /// The thread that makes it.
    pub thread: u32,
    /// The call's number.
    pub number: i64,
    /// Arguments of the call.
    pub arguments: [u64; 6],
}

/// Answers the calls of a process that is [intercepted](be_intercepted).
#[derive(Debug)]
pub struct Interceptor(OwnedFd);

impl Interceptor {
    /// Takes the filter's descriptor from the socket that is the process's standard input; `None`
    /// if that ended instead.
    pub fn from_process(socket: impl AsFd) -> Option<Self> {
        socket::receive(socket, 1).fds.pop().map(Self)
    }

    /// The next call that stops within so many milliseconds.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` where no process is left.
    pub fn next(&self, milliseconds: u32) -> io::Result<Option<Stopped>> {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(milliseconds.min(999)) * 1_000_000 };
        let mut polled = [PollFd::new(&self.0, PollFlags::IN)];
        if retry_on_intr(|| poll(&mut polled, Some(&time)))? == 0 {
            return Ok(None);
        }
        if !polled[0].revents().contains(PollFlags::IN) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // SAFETY: all zeros is a value of this plain structure, and the one that the kernel wants.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request fills this structure, which lives on this stack.
        let outcome = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call)
        };
        if outcome != 0 {
            let error = io::Error::last_os_error();
            // A signal has ended the call in between.
            let is_over = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR));
            return if is_over { Ok(None) } else { Err(error) };
        }
        Ok(Some(Stopped {
            id: call.id,
            thread: call.pid,
            number: call.data.nr.into(),
            arguments: call.data.args,
        }))
    }

    /// Continues the call as if it had not been stopped.
    pub fn go_on(&self, call: &Stopped) {
        self.answer(call, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32);
    }

    /// Fails it without making it.
    pub fn fail(&self, call: &Stopped, errno: Errno) {
        self.answer(call, -errno.raw_os_error(), 0);
    }

    fn answer(&self, call: &Stopped, error: i32, flags: u32) {
        let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error, flags };
        // SAFETY: the request reads this structure, which lives on this stack. It fails only where
        // the call is over, as by a signal.
        let _ = unsafe {
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer)
        };
    }
}
