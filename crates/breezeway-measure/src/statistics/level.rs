//! The levels of the floor: a machine may jump between some few speeds within seconds, and ratios
//! hold within one.

use serde::Serialize;

use super::spread::Spread;

/// Readings of one level lie closer together than this factor, levels further apart.
const SAME_LEVEL: f64 = 1.3;
/// Fewer readings than this share are stray ones, and no level.
const LEAST_SHARE: f64 = 0.03;
/// Round trip time above which another program must have run on one of the two CPUs.
const DISTURBED_NS: f64 = 5_000.0;
/// Round trip time that separates near from far when there is a single level.
const FAR_FROM_NS: f64 = 300.0;

/// Readings of the floor that lie together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Name of the level: near, middle, far.
    pub name: String,
    /// Number of readings of the level.
    pub readings: usize,
    #[serde(flatten)]
    /// Distribution of the readings.
    pub nanoseconds: Spread,
}

/// All levels of a run, the nearest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Levels(pub Vec<Level>);

impl Levels {
    /// The levels of `readings`, in nanoseconds.
    #[must_use]
    pub fn of(readings: &[f64]) -> Self {
        let (disturbed, mut sorted): (Vec<f64>, Vec<f64>) =
            readings.iter().partition(|reading| is_disturbed(**reading));
        if sorted.is_empty() {
            return Self::all_disturbed(disturbed);
        }
        sorted.sort_by(f64::total_cmp);
        let clusters: Vec<&[f64]> =
            sorted.chunk_by(|low, high| *high <= SAME_LEVEL * *low).collect();
        let least = LEAST_SHARE * sorted.len() as f64;
        let kept: Vec<&[f64]> =
            clusters.into_iter().filter(|cluster| cluster.len() as f64 >= least).collect();
        let count = kept.len();
        let named = kept.iter().enumerate().filter_map(|(index, cluster)| {
            let nanoseconds = Spread::of(cluster.iter().copied())?;
            let name = name(index, count, nanoseconds.median);
            Some(Level { name, readings: cluster.len(), nanoseconds })
        });
        Self(named.collect())
    }

    /// Returns one level of all readings, so that there are figures if all are disturbed.
    fn all_disturbed(readings: Vec<f64>) -> Self {
        let (name, readings, spread) =
            ("disturbed".to_owned(), readings.len(), Spread::of(readings));
        Self(spread.map(|nanoseconds| Level { name, readings, nanoseconds }).into_iter().collect())
    }

    /// The index of the level to which a floor belongs.
    #[must_use]
    pub fn index(&self, nanoseconds: f64) -> usize {
        let distance = |level: &Level| (nanoseconds / level.nanoseconds.median).ln().abs();
        let nearest = self
            .0
            .iter()
            .enumerate()
            .min_by(|one, other| distance(one.1).total_cmp(&distance(other.1)));
        nearest.map_or(0, |(index, _)| index)
    }

    /// The index of the level that was seen most.
    #[must_use]
    pub fn main(&self) -> usize {
        let most = self.0.iter().map(|level| level.readings).max();
        self.0.iter().position(|level| Some(level.readings) == most).unwrap_or(0)
    }
}

/// Returns true if a reading measured another program instead of the machine.
pub(crate) fn is_disturbed(nanoseconds: f64) -> bool {
    nanoseconds > DISTURBED_NS
}

fn name(index: usize, count: usize, median: f64) -> String {
    let name = match (index, count) {
        (0, 1) if median < FAR_FROM_NS => "near",
        (0, 1) => "far",
        (0, _) => "near",
        (last, _) if last + 1 == count => "far",
        (1, 3) => "middle",
        (between, _) => return format!("middle {between}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(readings: &[f64]) -> Vec<String> {
        Levels::of(readings).0.into_iter().map(|level| level.name).collect()
    }

    #[test]
    fn a_steady_machine_has_one_level_named_by_where_it_lies() {
        assert_eq!(names(&[120.0, 125.0, 131.0]), ["near"]);
        assert_eq!(names(&[490.0, 500.0, 540.0]), ["far"]);
    }

    #[test]
    fn levels_are_separated_in_any_order_of_readings() {
        let levels = Levels::of(&[500.0, 120.0, 510.0, 118.0, 122.0]);
        assert_eq!(names(&[500.0, 120.0, 510.0, 118.0, 122.0]), ["near", "far"]);
        assert_eq!((levels.0[0].readings, levels.0[1].readings), (3, 2));
        assert_eq!(levels.main(), 0);
        assert_eq!((levels.index(130.0), levels.index(400.0)), (0, 1));
    }

    #[test]
    fn three_and_more_levels_have_middles() {
        assert_eq!(names(&[80.0, 120.0, 500.0]), ["near", "middle", "far"]);
        assert_eq!(names(&[80.0, 120.0, 500.0, 900.0]), ["near", "middle 1", "middle 2", "far"]);
    }

    #[test]
    fn a_stray_reading_is_no_level_but_belongs_to_one() {
        let mut readings = vec![120.0; 100];
        readings.push(5000.0);
        let levels = Levels::of(&readings);
        assert_eq!(levels.0.len(), 1);
        assert_eq!(levels.index(5000.0), 0);
    }

    #[test]
    fn readings_while_something_else_ran_are_no_level() {
        assert_eq!(names(&[120.0, 4e6, 5e6, 2e7]), ["near"]);
        assert_eq!(names(&[4e6, 5e6]), ["disturbed"]);
    }

    #[test]
    fn readings_in_small_steps_are_one_level() {
        assert_eq!(names(&[100.0, 120.0, 140.0, 170.0, 210.0]), ["near"]);
    }

    #[test]
    fn nothing_has_no_level() {
        assert_eq!(Levels::of(&[]).0, []);
    }
}
