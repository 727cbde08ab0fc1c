//! One finding of the doctor, with its grade and its remedy.

use std::fmt;

use serde::Serialize;

/// Grade of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    Ok,
    Warn,
    Fail,
}

/// One finding: one line of the output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) grade: Grade,
    pub(super) name: &'static str,
    /// Observed value.
    pub(super) seen: String,
    /// Remedy, if any is needed.
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { grade: Grade::Ok, name, seen: seen.into(), advice: None }
    }

    pub(super) fn warn(
        name: &'static str,
        seen: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { grade: Grade::Warn, name, seen: seen.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(
        name: &'static str,
        seen: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { grade: Grade::Fail, name, seen: seen.into(), advice: Some(advice.into()) }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warn => "warn",
            Grade::Fail => "FAIL",
        };
        write!(f, "{grade:<5} {:<14} {}", self.name, self.seen)?;
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, ": {advice}"))
    }
}

/// A size for people.
pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_holds_grade_name_finding_and_advice() {
        let check = Check::warn("cpu quota", "1.5 CPUs", "raise it");
        assert_eq!(check.to_string(), "warn  cpu quota      1.5 CPUs: raise it");
        assert_eq!(Check::ok("seals", "hold").to_string(), "ok    seals          hold");
    }
}
