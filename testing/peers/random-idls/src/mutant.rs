//! Faults to plant in the code that breezeway-idl generates, which must be found.

use clap::ValueEnum;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mutant {
    /// Field 3 is written as field 4.
    Number,
    /// A view does not take field 4 where it does not come in order.
    Lost,
    /// Sets have another name.
    Name,
}

impl Mutant {
    /// The text with the fault in it.
    pub fn plant(self, text: &str) -> String {
        text.lines().map(|line| self.line(line) + "\n").collect()
    }

    fn line(self, line: &str) -> String {
        match self {
            Self::Number => line.replace("to.field(3, ", "to.field(4, "),
            Self::Lost if line.trim_start().starts_with("4 => fields.view_next(") => {
                "4 => fields.skip_next()?,".to_owned()
            }
            Self::Lost => line.to_owned(),
            Self::Name => line.replace("Set<", "Sets<"),
        }
    }
}
