//! Pinning to a CPU.

use rustix::thread::CpuSet;

/// `sched_setaffinity(0, {cpu})`: lets the calling thread, and threads that it starts from now on,
/// run on `cpu` only; does nothing without a number.
///
/// # Errors
///
/// A line for the user that names the CPU and those that would work.
pub fn pin(cpu: Option<usize>) -> Result<(), String> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("cpu {cpu} is not usable here: allowed are {:?}", allowed()));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| {
        format!("pinning to cpu {cpu} was refused ({error}): allowed are {:?}", allowed())
    })
}

fn allowed() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_no_machine_has_is_refused_with_those_that_would_work() {
        let error = pin(Some(usize::MAX)).unwrap_err();
        assert!(error.contains("allowed are [") && !allowed().is_empty(), "{error}");
    }

    #[test]
    fn a_pinned_thread_may_use_only_that_cpu() {
        let last = allowed().pop().unwrap();
        let pinned = std::thread::spawn(move || pin(Some(last)).map(|()| allowed()));
        assert_eq!(pinned.join().unwrap(), Ok(vec![last]));
    }
}
