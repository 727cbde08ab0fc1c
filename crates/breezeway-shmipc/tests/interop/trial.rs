//! One test of this program, which is ignored if a program that it needs is not built.

use libtest_mimic::Trial;

use super::program::Program;

pub(crate) fn trial(
    name: impl Into<String>,
    programs: [Program; 2],
    test: impl FnOnce() + Send + 'static,
) -> Trial {
    let is_here = programs.iter().all(|program| program.is_here());
    let trial = Trial::test(name, || {
        test();
        Ok(())
    });
    // The kind is printed beside the name.
    trial.with_ignored_flag(!is_here).with_kind(if is_here { "" } else { "make upstream, with Go" })
}
