use proptest::prelude::*;

use super::*;

const TICK: TimeDelta = TimeDelta::seconds(1);
const PAGE: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    id: u8,
    at: DateTime<Utc>,
}

impl HasUpdatedAt for Item {
    fn version(&self) -> (String, DateTime<Utc>) {
        (self.id.to_string(), self.at)
    }
}

/// A change between two requests.
#[derive(Debug, Clone)]
enum Change {
    Update(u8),
    Delete(u8),
    /// This number of milliseconds passes.
    Wait(i64),
}

fn changes() -> impl Strategy<Value = Vec<Vec<Change>>> {
    let change = prop_oneof![
        4 => (0..20_u8).prop_map(Change::Update),
        1 => (0..20_u8).prop_map(Change::Delete),
        2 => prop_oneof![Just(300), Just(1_500), Just(200_000)].prop_map(Change::Wait),
    ];
    prop::collection::vec(prop::collection::vec(change, 0..4), 0..12)
}

struct Provider {
    now: DateTime<Utc>,
    items: BTreeMap<u8, DateTime<Utc>>,
}

impl Provider {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Update(id) => drop(self.items.insert(*id, self.now)),
            Change::Delete(id) => drop(self.items.remove(id)),
            Change::Wait(millis) => self.now += TimeDelta::milliseconds(*millis),
        }
    }

    /// Lists as a tracker does whose filter has whole seconds.
    fn list(&self, position: &Position) -> ListPage<Item> {
        let offset = usize::try_from(position.offset()).expect("small");
        let mut found: Vec<Item> =
            self.items.iter().map(|(id, at)| Item { id: *id, at: *at }).collect();
        found.retain(|item| position.since.is_none_or(|since| item.at >= floor(since, TICK)));
        found.sort_by_key(|item| (item.at, item.id));
        let has_more = found.len() > offset + PAGE;
        let items = found.into_iter().skip(offset).take(PAGE).collect();
        let more = has_more.then(|| PageMarker::Offset((offset + PAGE) as u64));
        ListPage { items, more, tick: TICK }
    }
}

proptest! {
    /// Once the changes end and the sync completes, every item was returned as it is.
    #[test]
    fn sync_loses_no_concurrent_change(
        first in prop::collection::vec(0..20_u8, 0..20),
        changes in changes(),
    ) {
        let now = DateTime::from_timestamp_secs(1_767_323_045).expect("a time");
        let items = first.into_iter().map(|id| (id, now)).collect();
        let mut provider = Provider { now, items };
        let mut synced: BTreeMap<u8, DateTime<Utc>> = BTreeMap::new();
        let mut position = Position::default();
        let mut quiet_syncs = 0;
        for request in 0.. {
            prop_assert!(request < 200, "the sync does not end");
            let page = provider.list(&position);
            let Step { items, next, is_last } = position.clone().advance(page, provider.now);
            synced.extend(items.into_iter().map(|item| (item.id, item.at)));
            position = next;
            for change in changes.get(request).map(Vec::as_slice).unwrap_or_default() {
                provider.apply(change);
            }
            if is_last && request >= changes.len() {
                quiet_syncs += 1;
            }
            // The last request of the first quiet sync may precede the last change.
            if quiet_syncs == 2 {
                break;
            }
        }
        for (id, at) in &provider.items {
            prop_assert_eq!(synced.get(id), Some(at), "{}", id);
        }
    }
}

#[test]
fn sync_returns_no_unchanged_item_twice() {
    let now = DateTime::from_timestamp_secs(1_767_323_045).expect("a time");
    let provider = Provider { now, items: (0..10).map(|id| (id, now)).collect() };
    let mut position = Position::default();
    let mut returned = Vec::new();
    for _ in 0..20 {
        let step = position.clone().advance(provider.list(&position), provider.now);
        returned.extend(step.items.into_iter().map(|item| item.id));
        position = step.next;
    }
    assert_eq!(returned, (0..10).collect::<Vec<_>>());
}
