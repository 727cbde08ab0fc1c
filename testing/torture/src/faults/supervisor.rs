//! The supervisor of a process: it continues calls, and lets one of them fail.

use std::collections::BTreeMap;
use std::fs::{File, read_link};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use breezeway_adversary::interception::{Interceptor, Stopped};
use rustix::net::{Shutdown, shutdown};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, getrlimit, pidfd_getfd, pidfd_open, prlimit,
};

use super::calls::Fault;
use crate::Failure;
use crate::process::Process;

/// Time for which a process stays without free descriptors.
const SHORT_FOR: Duration = Duration::from_millis(30);

/// A call that is to fail: the `nth` of its number from now on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) number: i64,
    pub(crate) nth: u64,
    pub(crate) fault: Fault,
}

#[derive(Default)]
struct State {
    /// Calls by number since they were last asked for.
    counts: BTreeMap<i64, u64>,
    plan: Option<Plan>,
    /// Calls of the plan's number so far.
    seen: u64,
    /// True if the process may have no further descriptor.
    is_short: bool,
    /// The connection that was cut last, by the name that the kernel has for it.
    cut: Option<PathBuf>,
    is_over: bool,
}

/// Answers the calls of one process until that ends.
pub(crate) struct Supervisor {
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no panic")
}

impl Supervisor {
    /// Watches a process that has just been started for that; `None` if it could not install its
    /// filter, for which it gives the reason on standard error.
    pub(crate) fn of(process: &mut Process, plan: Option<Plan>) -> Result<Option<Self>, Failure> {
        let pid = process.pid().ok_or("the process has ended")?;
        let Some(interceptor) = Interceptor::from_process(process.input()?) else {
            return Ok(None);
        };
        let state = Arc::new(Mutex::new(State { plan, ..State::default() }));
        let answers = Arc::clone(&state);
        let answering = move || {
            // An ended process needs no further answers.
            let _ = answer(&interceptor, pid, &answers);
            let mut state = lock(&answers);
            (state.is_short, state.is_over) = (false, true);
        };
        let thread = Builder::new().name("supervisor".to_owned()).spawn(answering)?;
        Ok(Some(Self { state, thread: Some(thread) }))
    }

    /// Calls by number since this was last asked.
    pub(crate) fn take_counts(&self) -> BTreeMap<i64, u64> {
        std::mem::take(&mut lock(&self.state).counts)
    }

    /// Makes a call fail.
    pub(crate) fn arm(&self, plan: Plan) {
        let mut state = lock(&self.state);
        state.plan = Some(plan);
        state.seen = 0;
    }

    /// The connection that was cut.
    pub(crate) fn take_cut(&self) -> Option<PathBuf> {
        lock(&self.state).cut.take()
    }

    /// Makes no call fail any more; whether one has. Descriptors are free again from here on.
    pub(crate) fn disarm(&self) -> bool {
        let has_failed = lock(&self.state).plan.take().is_none();
        while lock(&self.state).is_short {
            std::thread::sleep(Duration::from_millis(1));
        }
        has_failed
    }
}

impl Drop for Supervisor {
    /// Waits for the thread if the process, and with it the thread, has ended.
    fn drop(&mut self) {
        let is_over = lock(&self.state).is_over;
        if let (Some(thread), true) = (self.thread.take(), is_over) {
            let _ = thread.join();
        }
    }
}

impl State {
    /// Counts a call; returns its result, if it is not the kernel's.
    fn judge(&mut self, call: &Stopped) -> Option<Fault> {
        *self.counts.entry(call.number).or_default() += 1;
        let plan = self.plan.filter(|plan| plan.number == call.number)?;
        if plan.fault.is_of_descriptors_in_flight() && !has_control(call) {
            return None;
        }
        self.seen += 1;
        if self.seen < plan.nth {
            return None;
        }
        self.plan = None;
        self.is_short = plan.fault == Fault::NoDescriptors;
        Some(plan.fault)
    }
}

/// Returns the link in /proc of the descriptor that the call is about.
fn descriptor(call: &Stopped) -> String {
    format!("/proc/{}/fd/{}", call.thread, call.arguments[0])
}

/// Returns true if a `sendmsg` has anything beside bytes (`struct msghdr`).
fn has_control(call: &Stopped) -> bool {
    const CONTROL_LEN: u64 = 40;
    let mut len = [0; 8];
    File::open(format!("/proc/{}/mem", call.thread))
        .and_then(|memory| memory.read_exact_at(&mut len, call.arguments[1] + CONTROL_LEN))
        .is_ok_and(|()| u64::from_ne_bytes(len) > 0)
}

fn answer(interceptor: &Interceptor, pid: u32, state: &Mutex<State>) -> Result<(), Failure> {
    let pid = Pid::from_raw(pid.try_into()?).ok_or("a process has a number")?;
    let ours = getrlimit(Resource::Nofile);
    let limit = |current| prlimit(Some(pid), Resource::Nofile, Rlimit { current, ..ours });
    let mut restore: Option<Instant> = None;
    loop {
        let call = interceptor.next(10)?;
        if restore.is_some_and(|time| Instant::now() >= time) {
            limit(ours.current)?;
            restore = None;
            lock(state).is_short = false;
        }
        let Some(call) = call else { continue };
        // Event counters and the like never return these errors.
        let is_counter = matches!(call.number, libc::SYS_read | libc::SYS_write)
            && read_link(descriptor(&call))
                .is_ok_and(|target| target.to_string_lossy().starts_with("anon_inode:"));
        let fault = if is_counter { None } else { lock(state).judge(&call) };
        match fault {
            None => interceptor.go_on(&call),
            Some(Fault::Error(_, errno)) => interceptor.fail(&call, errno),
            Some(Fault::Cut) => {
                lock(state).cut = read_link(descriptor(&call)).ok();
                // A descriptor other than a connection stays as it is.
                let _ = cut(pid, call.arguments[0]);
                interceptor.go_on(&call);
            }
            Some(Fault::NoDescriptors) => {
                limit(Some(0))?;
                restore = Some(Instant::now() + SHORT_FOR);
                interceptor.go_on(&call);
            }
        }
    }
}

/// Shuts a connection of the process down.
fn cut(pid: Pid, descriptor: u64) -> Result<(), Failure> {
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let socket = pidfd_getfd(process, descriptor.try_into()?, PidfdGetfdFlags::empty())?;
    Ok(shutdown(socket, Shutdown::Both)?)
}
