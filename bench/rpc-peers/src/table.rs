//! The figures of pairs.

/// Both sides of each pair, and their ratios.
#[derive(Default)]
pub(crate) struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    ratios: Vec<f64>,
}

impl Pairs {
    pub(crate) fn add(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
        self.ratios.push(theirs / ours);
    }

    /// A row: medians, and how many times theirs is ours, with its quartiles.
    pub(crate) fn print(&self, name: &str, unit: &str) {
        let [ours, theirs] = [&self.ours, &self.theirs].map(|values| at(values, 0.5));
        let [low, median, high] = [0.25, 0.5, 0.75].map(|part| at(&self.ratios, part));
        println!(
            "{name:<44} {ours:>10.1} {theirs:>10.1} {unit:<6} {median:.2} ({low:.2} to {high:.2})"
        );
    }
}

pub(crate) fn at(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[(part * (values.len() - 1) as f64).round() as usize]
}
