//! Assignment of developers to the arms of a canary.

use serde::{Deserialize, Serialize};

use crate::random::stable_hash;

/// A version of the prompt in a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The version in use.
    Parent,
    /// The new version.
    Canary,
}

/// The arms of one canary. Store it when the canary starts.
///
/// A developer's arm depends on the hash of project, version and developer alone, and on the
/// threshold that was drawn at the start. So nobody changes arms during a canary, whoever joins or
/// leaves and in whatever order developers are listed; the share of the canary may then deviate. Of
/// those who join, a share that is close to the configured one is assigned to the canary. Another
/// version draws other developers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arms {
    project: String,
    version: u32,
    threshold: u64,
}

impl Arms {
    /// Draws the canary: `percent` of the developers, rounded, but at least one. Returns none
    /// without developers.
    pub fn draw(project: &str, version: u32, developers: &[&str], percent: u8) -> Option<Self> {
        let hash = |developer: &&str| hash(project, version, developer);
        let mut hashes: Vec<u64> = developers.iter().map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        let count =
            ((hashes.len() * usize::from(percent) + 50) / 100).clamp(1, hashes.len().max(1));
        let threshold = *hashes.get(count - 1)?;
        Some(Self { project: project.to_owned(), version, threshold })
    }

    /// Returns the arm of a developer, also of one who joined later.
    pub fn arm(&self, developer: &str) -> Arm {
        let is_canary = hash(&self.project, self.version, developer) <= self.threshold;
        if is_canary { Arm::Canary } else { Arm::Parent }
    }
}

fn hash(project: &str, version: u32, developer: &str) -> u64 {
    stable_hash(&["canary", project, &version.to_string(), developer])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("dev-{n}")).collect()
    }

    fn draw(names: &[String], version: u32) -> Arms {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Arms::draw("billing", version, &names, 10).expect("developers")
    }

    fn canary(arms: &Arms, names: &[String]) -> Vec<String> {
        names.iter().filter(|name| arms.arm(name) == Arm::Canary).cloned().collect()
    }

    #[test]
    fn a_tenth_of_the_developers_but_at_least_one_is_in_the_canary() {
        for (count, expected) in [(1, 1), (2, 1), (10, 1), (14, 1), (15, 2), (40, 4), (101, 10)] {
            let names = names(count);
            assert_eq!(canary(&draw(&names, 1), &names).len(), expected, "of {count}");
        }
        assert_eq!(Arms::draw("billing", 1, &[], 10), None);
    }

    #[test]
    fn the_draw_depends_on_no_order_and_ignores_duplicates() {
        let names = names(40);
        let mut reversed: Vec<String> = names.iter().rev().cloned().collect();
        reversed.extend(names.iter().cloned());
        assert_eq!(draw(&names, 1), draw(&reversed, 1));
    }

    #[test]
    fn nobody_changes_arms_when_others_join_or_leave() {
        let all = names(400);
        let arms = draw(&all[..40], 1);
        let stored: Arms = serde_json::to_string(&arms)
            .and_then(|json| serde_json::from_str(&json))
            .expect("arms are stored");
        assert_eq!(canary(&arms, &all), canary(&stored, &all));
        // A draw among others may move a developer; the stored one does not.
        assert_eq!(canary(&stored, &all[..40]).len(), 4);
        let joined = canary(&stored, &all[40..]).len();
        assert!((10..=72).contains(&joined), "{joined} of 360 who joined");
    }

    #[test]
    fn one_developer_who_joins_before_a_draw_moves_at_most_one() {
        let all = names(100);
        for count in 20..100 {
            let before = canary(&draw(&all[..count], 1), &all[..count]);
            let after = canary(&draw(&all[..=count], 1), &all[..count]);
            let left = before.iter().filter(|name| !after.contains(name)).count();
            assert!(left <= 1, "{left} of {count}");
        }
    }

    #[test]
    fn versions_draw_independently() {
        let names = names(200);
        let first = canary(&draw(&names, 1), &names);
        let second = canary(&draw(&names, 2), &names);
        assert!(first.iter().filter(|name| second.contains(name)).count() < 10);
    }
}
