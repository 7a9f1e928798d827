//! Goes through what changed, page by page, so that nothing is lost that changes meanwhile.
//!
//! A position is a time and not the number of a page: once an answer has told of later changes, the next
//! request asks for those. Only where more changed at one time than an answer holds does it go on by place. What
//! changes meanwhile moves the rest to other places, so that time is gone through until it shows twice the same: then
//! nothing was passed over the first time. What comes to it even later changed after the sweep began, and the next one
//! begins before that. What was told already and comes again is known by its id and its time, and left out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Error;
use crate::traits::Cursor;

/// How far a system may be behind in showing what it has, and its clock behind this one: the next sweep begins so much
/// before the last change, and before this one began.
const OVERLAP: TimeDelta = TimeDelta::minutes(2);
/// How far before the time that was asked for answers may begin: where clocks are put back, an hour is there twice.
const REACH: TimeDelta = TimeDelta::hours(3);
/// How much is remembered as told.
const MOST_TOLD: usize = 20_000;

/// Where a sweep stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    /// Changes from then on are asked for; all where it is `None`.
    pub(super) since: Option<DateTime<Utc>>,
    /// Where in the answer to that.
    pub(super) place: Option<Place>,
    /// When this sweep began, by the clock here.
    #[serde(default)]
    began: Option<DateTime<Utc>>,
    /// What this time has shown, as a sum.
    #[serde(default)]
    shown: u64,
    /// What it showed when it was gone through before.
    #[serde(default)]
    shown_before: Option<u64>,
    /// When what was told had changed, in milliseconds.
    #[serde(default)]
    told: BTreeMap<String, i64>,
}

/// Where in an answer that comes in several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// Behind so many.
    Offset(u64),
    /// The system's own word for it.
    Token(String),
}

impl Place {
    /// How many there are before it; none where only the system knows.
    pub(super) fn offset(place: Option<&Self>) -> u64 {
        match place {
            Some(Self::Offset(offset)) => *offset,
            Some(Self::Token(_)) | None => 0,
        }
    }
}

/// One answer: what changed, in the order in which it changed.
pub(super) struct ListPage<T> {
    pub(super) items: Vec<T>,
    /// Where the rest of it begins; `None` where that is all.
    pub(super) more: Option<Place>,
    /// What the system's filter by time can tell apart.
    pub(super) tick: TimeDelta,
}

/// Something that changes.
pub(super) trait HasUpdatedAt {
    /// Its id.
    fn id(&self) -> String;
    /// When it last changed, by its system's clock.
    fn changed_at(&self) -> DateTime<Utc>;
}

/// What is new, and where it goes on.
pub(super) struct Step<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Position,
    pub(super) is_last: bool,
}

impl Position {
    /// Reads a cursor back; the default one is the beginning.
    pub(super) fn read(cursor: &Cursor, system: &str) -> Result<Self, Error> {
        match &cursor.0 {
            Value::Null => Ok(Self::default()),
            value => {
                Self::deserialize(value).map_err(|_| Error::Cursor { system: system.to_owned() })
            }
        }
    }

    /// Whether it stands where only the system knows.
    pub(super) fn has_token(&self) -> bool {
        matches!(self.place, Some(Place::Token(_)))
    }

    pub(super) fn cursor(&self, system: &str) -> Result<Cursor, Error> {
        let value = serde_json::to_value(self);
        value.map(Cursor).map_err(|_| Error::Cursor { system: system.to_owned() })
    }

    /// Goes on by an answer to what was asked at `now`.
    pub(super) fn advance<T: HasUpdatedAt>(
        mut self,
        listed: ListPage<T>,
        now: DateTime<Utc>,
    ) -> Step<T> {
        let tick = listed.tick;
        let began = *self.began.get_or_insert(now);
        let newest = listed.items.iter().map(|item| floor(item.changed_at(), tick)).max();
        self.sum_up(&listed.items, tick);
        let items: Vec<T> = listed.items.into_iter().filter(|item| self.tell(item)).collect();
        let has_moved_on = newest > self.since;
        let more = listed.more.filter(|place| self.leads_on(place));
        let is_last = match more {
            Some(place) if !has_moved_on => {
                self.place = Some(place);
                false
            }
            more => {
                let is_through = self.settled();
                if is_through && more.is_some() {
                    self.since = newest;
                }
                is_through && more.is_none()
            }
        };
        self.forget(tick, began, is_last);
        self.began = self.began.filter(|_| !is_last);
        Step { items, next: self, is_last }
    }

    /// Adds what an answer shows of the time that is gone through; in any order the sum is the same.
    fn sum_up<T: HasUpdatedAt>(&mut self, items: &[T], tick: TimeDelta) {
        let of_this_time =
            items.iter().filter(|item| Some(floor(item.changed_at(), tick)) <= self.since);
        for item in of_this_time {
            self.shown = self.shown.wrapping_add(sum(item));
        }
    }

    /// Whether there can be more at a place: not where a system that takes no places says the same for ever.
    fn leads_on(&self, place: &Place) -> bool {
        match place {
            Place::Offset(offset) => {
                self.told.len() >= MOST_TOLD || *offset <= self.told.len() as u64
            }
            Place::Token(_) => self.place.as_ref() != Some(place),
        }
    }

    /// Ends a time that was gone through: whether it has been told whole.
    fn settled(&mut self) -> bool {
        let is_whole = self.place.is_none() || self.shown_before == Some(self.shown);
        let shown = std::mem::take(&mut self.shown);
        self.shown_before = (!is_whole).then_some(shown);
        self.place = None;
        is_whole
    }

    /// Whether it is new, as it is now.
    fn tell<T: HasUpdatedAt>(&mut self, item: &T) -> bool {
        let time = item.changed_at().timestamp_millis();
        self.told.insert(item.id(), time) != Some(time)
    }

    /// Keeps of what was told what may come again.
    fn forget(&mut self, tick: TimeDelta, began: DateTime<Utc>, is_last: bool) {
        let Some(newest) = self.told.values().max().copied() else { return };
        let Some(newest) = DateTime::from_timestamp_millis(newest) else { return };
        let overlapping = floor(newest.min(began) - OVERLAP, tick);
        if is_last {
            self.since = Some(overlapping);
        }
        let oldest =
            self.since.map_or(overlapping, |since| since.min(overlapping)) - tick.max(REACH);
        self.told.retain(|_, time| *time >= oldest.timestamp_millis());
        if self.told.len() > MOST_TOLD {
            let mut told: Vec<_> = std::mem::take(&mut self.told).into_iter().collect();
            told.sort_unstable_by_key(|(_, time)| Reverse(*time));
            told.truncate(MOST_TOLD);
            self.told = told.into_iter().collect();
        }
    }
}

/// A number for an item as it is, the same on every machine.
fn sum(item: &impl HasUpdatedAt) -> u64 {
    let digest = Sha256::new()
        .chain_update(item.changed_at().timestamp_millis().to_be_bytes())
        .chain_update(item.id())
        .finalize();
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn floor(time: DateTime<Utc>, tick: TimeDelta) -> DateTime<Utc> {
    time.duration_trunc(tick).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: TimeDelta = TimeDelta::seconds(1);
    const PAGE: usize = 3;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Thing {
        id: u8,
        at: DateTime<Utc>,
    }

    impl HasUpdatedAt for Thing {
        fn id(&self) -> String {
            self.id.to_string()
        }

        fn changed_at(&self) -> DateTime<Utc> {
            self.at
        }
    }

    /// What happens between two requests.
    #[derive(Debug, Clone)]
    enum Happening {
        Change(u8),
        Removal(u8),
        /// So many milliseconds pass.
        Time(i64),
    }

    fn happenings() -> impl Strategy<Value = Vec<Vec<Happening>>> {
        let one = prop_oneof![
            4 => (0..20_u8).prop_map(Happening::Change),
            1 => (0..20_u8).prop_map(Happening::Removal),
            2 => prop_oneof![Just(300), Just(1_500), Just(200_000)].prop_map(Happening::Time),
        ];
        prop::collection::vec(prop::collection::vec(one, 0..4), 0..12)
    }

    struct Things {
        now: DateTime<Utc>,
        there: BTreeMap<u8, DateTime<Utc>>,
    }

    impl Things {
        fn happen(&mut self, happening: &Happening) {
            match happening {
                Happening::Change(id) => drop(self.there.insert(*id, self.now)),
                Happening::Removal(id) => drop(self.there.remove(id)),
                Happening::Time(millis) => self.now += TimeDelta::milliseconds(*millis),
            }
        }

        /// As a tracker answers whose filter knows whole seconds.
        fn list(&self, position: &Position) -> ListPage<Thing> {
            let offset = usize::try_from(Place::offset(position.place.as_ref())).expect("small");
            let mut found: Vec<Thing> =
                self.there.iter().map(|(id, at)| Thing { id: *id, at: *at }).collect();
            found.retain(|thing| position.since.is_none_or(|since| thing.at >= floor(since, TICK)));
            found.sort_by_key(|thing| (thing.at, thing.id));
            let has_more = found.len() > offset + PAGE;
            let items = found.into_iter().skip(offset).take(PAGE).collect();
            let more = has_more.then(|| Place::Offset((offset + PAGE) as u64));
            ListPage { items, more, tick: TICK }
        }
    }

    proptest! {
        /// Whatever happens meanwhile: once it is quiet and the sweep at its end, all is told as it is.
        #[test]
        fn nothing_is_lost_that_changes_meanwhile(
            first in prop::collection::vec(0..20_u8, 0..20),
            happenings in happenings(),
        ) {
            let now = DateTime::from_timestamp_secs(1_767_323_045).expect("a time");
            let mut things = Things { now, there: first.into_iter().map(|id| (id, now)).collect() };
            let mut told: BTreeMap<u8, DateTime<Utc>> = BTreeMap::new();
            let mut position = Position::default();
            let mut quiet = 0;
            for round in 0.. {
                prop_assert!(round < 200, "it has no end");
                let Step { items, next, is_last } = position.clone().advance(things.list(&position), things.now);
                told.extend(items.into_iter().map(|thing| (thing.id, thing.at)));
                position = next;
                let meanwhile = happenings.get(round).map(Vec::as_slice).unwrap_or_default();
                for happening in meanwhile {
                    things.happen(happening);
                }
                quiet = if is_last && round >= happenings.len() { quiet + 1 } else { quiet };
                // The last request of a sync may have been before the last change.
                if quiet == 2 {
                    break;
                }
            }
            for (id, at) in &things.there {
                prop_assert_eq!(told.get(id), Some(at), "{}", id);
            }
        }
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let now = DateTime::from_timestamp_secs(1_767_323_045).expect("a time");
        let things = Things { now, there: (0..10).map(|id| (id, now)).collect() };
        let mut position = Position::default();
        let mut told = Vec::new();
        for _ in 0..20 {
            let step = position.clone().advance(things.list(&position), things.now);
            told.extend(step.items.into_iter().map(|thing| thing.id));
            position = step.next;
        }
        assert_eq!(told, (0..10).collect::<Vec<_>>());
    }
}
