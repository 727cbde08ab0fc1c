//! The two CPUs of a measurement.

use std::str::FromStr;

use breezeway_os::cpu;

use crate::Failure;

/// CPUs of the two processes of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpus {
    /// The CPU of the process that takes the time.
    pub measurer: usize,
    /// The CPU of its partner or server.
    pub partner: usize,
}

impl Cpus {
    /// Returns both CPUs, the measuring process's first.
    pub(crate) fn both(self) -> [usize; 2] {
        [self.measurer, self.partner]
    }

    /// Returns the first two CPUs that this process may use.
    ///
    /// # Errors
    ///
    /// Returns a text with the remedy if there are fewer than two.
    pub fn first_allowed() -> Result<Self, String> {
        first_two(&cpu::allowed())
    }

    /// Pins a thread to each, to find out before anything is started whether both can be had.
    ///
    /// # Errors
    ///
    /// A line that names the CPU that cannot be had, and those that can.
    pub fn check(self) -> Result<(), Failure> {
        for number in [self.measurer, self.partner] {
            // On a thread of its own, because a pinned one has lost the set of allowed CPUs.
            let pinned = std::thread::spawn(move || cpu::pin_current_thread(number)).join();
            let pinned =
                pinned.map_err(|_| format!("cannot find out whether cpu {number} is usable"))?;
            pinned.map_err(|error| format!("{error}; choose two of them with --cpus A,B"))?;
        }
        Ok(())
    }
}

/// Two CPU numbers, as in `0,1`.
impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, second) = text.split_once(',').ok_or("expected two CPU numbers, as in 0,1")?;
        let number = |text: &str| {
            text.trim().parse::<usize>().map_err(|_| format!("{text:?} is not a CPU number"))
        };
        let cpus = Self { measurer: number(first)?, partner: number(second)? };
        if cpus.measurer == cpus.partner {
            return Err("the two CPUs must differ, both sides spin at the same time".to_owned());
        }
        Ok(cpus)
    }
}

/// Lets the calling thread, and threads that it starts from now on, run on `cpu` only; does nothing
/// without a number.
///
/// # Errors
///
/// A line that names the CPU and those that would do.
pub fn pin(cpu: Option<usize>) -> Result<(), Failure> {
    if let Some(cpu) = cpu {
        cpu::pin_current_thread(cpu)?;
    }
    Ok(())
}

fn first_two(allowed: &[usize]) -> Result<Cpus, String> {
    match *allowed {
        [measurer, partner, ..] => Ok(Cpus { measurer, partner }),
        _ => Err(format!(
            "the floor needs two CPUs, but this process may use only {allowed:?}: start it with a \
             wider affinity (taskset -c 0,1) or name two with --cpus A,B"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_two_different_numbers() {
        assert_eq!("0,1".parse(), Ok(Cpus { measurer: 0, partner: 1 }));
        assert_eq!("7, 2".parse(), Ok(Cpus { measurer: 7, partner: 2 }));
        for text in ["", "0", "0,", ",1", "0,1,2", "a,b", "-1,0", "0-1", "3,3"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
    }

    #[test]
    fn unknown_cpu_is_refused_with_the_allowed_ones() {
        let error = pin(Some(usize::MAX)).unwrap_err().to_string();
        assert!(error.contains("allowed are ") && !cpu::allowed().is_empty(), "{error}");
    }

    #[test]
    fn a_pinned_thread_may_use_only_that_cpu() {
        let last = cpu::allowed().pop().unwrap();
        let pinned = std::thread::spawn(move || pin(Some(last)).map(|()| cpu::allowed()));
        assert_eq!(pinned.join().unwrap().unwrap(), [last]);
    }

    #[test]
    fn one_allowed_cpu_is_refused_with_remedy() {
        assert_eq!(first_two(&[4, 6, 7]), Ok(Cpus { measurer: 4, partner: 6 }));
        for allowed in [&[][..], &[3]] {
            let error = first_two(allowed).unwrap_err();
            assert!(error.contains("two CPUs") && error.contains("--cpus"), "{error}");
        }
    }
}
