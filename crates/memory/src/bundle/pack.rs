//! Packing a bundle into a token budget.

use std::mem::take;

use mc_contract::operations::recall::RecallResponse;
use mc_domain::{BundleSection as Section, Trust};
use serde::Serialize;

use super::render::{self, response};
use super::{
    Bundle, CODE_MAX, CodePlace, DIALOGS_MAX, DialogExcerpt, FACTS_MAX, FEW_SHOTS_MAX, FewShot,
    GOTCHAS_MAX, LINKS_MAX, Link, LinkTarget, STATEMENT_MAX_CHARS, Statement, sort_by_trust,
};
use crate::distill::condense;
use crate::text::cut;
use crate::tokens::TokenBudget;

/// Reason for an empty bundle although something was found.
const NO_ROOM: &str = "limit_tokens is too small for what was found";

/// Placeholder for `tokens`, whose digits count before its value is known.
const TOKENS_PLACEHOLDER: usize = TokenBudget::MAX;

/// Packs a bundle whose JSON costs at most `budget` tokens from the candidates in `bundle`, each
/// section best first. Records come first, the most relevant first, each whole if it fits; other
/// items take the room that is left. Untrusted items come last.
pub fn pack(mut bundle: Bundle, budget: TokenBudget) -> Bundle {
    let had_items = !bundle.is_empty();
    let mut items = ItemOrder::taken_from(&mut bundle);
    let mut bundle = fit_envelope(bundle, budget);
    let mut usage = Usage::of(&bundle);
    let mut taken = Vec::new();
    while let Some(item) = items.next() {
        let Some(item) = usage.fitted(item, &bundle, budget) else {
            bundle.omitted += 1;
            continue;
        };
        items.count_taken(&item);
        taken.push(section(&item));
        put(&mut bundle, item);
    }
    // The tokens of the parts need not add up to those of the whole, which count.
    let mut whole = size(&bundle);
    while whole > budget.get()
        && let Some(section) = taken.pop()
    {
        remove_last(&mut bundle, section);
        bundle.omitted += 1;
        whole = size(&bundle);
    }
    if whole > budget.get() {
        // Only the envelope is left, and it took all the room.
        bundle.omitted = 0;
        whole = size(&bundle);
    }
    if bundle.is_empty() && bundle.reason.is_none() {
        // The reason replaces the count.
        bundle.omitted = 0;
        if had_items {
            let explained = Bundle { reason: Some(NO_ROOM.to_owned()), ..bundle.clone() };
            bundle = if size(&explained) <= budget.get() { explained } else { bundle };
        }
        bundle.confidence = 0.0;
        whole = size(&bundle);
    }
    bundle.token_count = exact(whole);
    bundle
}

/// Upper bound of a bundle's tokens. No token is shorter than a byte, so tokens are counted only
/// once the bytes exceed the budget.
struct Usage {
    at_most: usize,
    is_exact: bool,
}

impl Usage {
    fn of(bundle: &Bundle) -> Self {
        Self { at_most: json_of(bundle).len(), is_exact: false }
    }

    /// Fits an item: whole if there is room, else shortened to its most telling sentences, and
    /// marked so; `None` if not even that fits.
    fn fitted(&mut self, item: Item, bundle: &Bundle, budget: TokenBudget) -> Option<Item> {
        let json = json_of_item(&item);
        if self.has_room(json.len(), budget) {
            self.at_most += json.len() + SEPARATOR_TOKENS;
            self.is_exact = false;
            return Some(item);
        }
        if !self.is_exact {
            *self = Self { at_most: size(bundle), is_exact: true };
        }
        let whole = mc_tokens::count(&json);
        if self.has_room(whole, budget) {
            self.at_most += whole + SEPARATOR_TOKENS;
            return Some(item);
        }
        let short = shortened(item)?;
        let cost = mc_tokens::count(&json_of_item(&short));
        self.has_room(cost, budget).then(|| {
            self.at_most += cost + SEPARATOR_TOKENS;
            short
        })
    }

    fn has_room(&self, tokens: usize, budget: TokenBudget) -> bool {
        self.at_most + tokens + SEPARATOR_TOKENS <= budget.get()
    }
}

/// Shortens the text and steps of an item; `None` if neither is long.
fn shortened(mut item: Item) -> Option<Item> {
    let (text, full_chars, steps) = match &mut item {
        Item::Gotcha(item) | Item::Fact(item) => (&mut item.text, &mut item.full_chars, None),
        Item::FewShot(FewShot { text: Some(text), full_chars, steps, .. }) => {
            (text, full_chars, Some(steps))
        }
        Item::Link(Link { text: Some(text), full_chars, .. }) => (text, full_chars, None),
        _ => return None,
    };
    let count = |steps: Option<&Vec<String>>| {
        steps.into_iter().flatten().map(|step| step.chars().count()).sum::<usize>()
    };
    let (of_text, of_steps) = (text.chars().count(), count(steps.as_deref()));
    if of_text.max(of_steps) <= STATEMENT_MAX_CHARS {
        return None;
    }
    if of_text > STATEMENT_MAX_CHARS {
        *text = condense(text, STATEMENT_MAX_CHARS);
    }
    if let Some(steps) = steps {
        shorten_steps(steps);
    }
    // The statement of a long text has its length set already.
    full_chars.get_or_insert(of_text + of_steps);
    Some(item)
}

/// Keeps the first steps that fit, and at least the most telling sentences of the first one.
fn shorten_steps(steps: &mut Vec<String>) {
    let mut room = STATEMENT_MAX_CHARS;
    let fits = |step: &&String| {
        let chars = step.chars().count();
        let fits = chars <= room;
        room = room.saturating_sub(chars);
        fits
    };
    let count = steps.iter().take_while(fits).count();
    if let (0, Some(first)) = (count, steps.first_mut()) {
        *first = condense(first, STATEMENT_MAX_CHARS);
    }
    steps.truncate(count.max(1));
}

/// Counts the tokens of the bundle, with room for its own `tokens` field.
fn size(bundle: &Bundle) -> usize {
    mc_tokens::count(&json_of(bundle))
}

fn json_of(bundle: &Bundle) -> String {
    json(&RecallResponse { tokens: TOKENS_PLACEHOLDER, ..response(bundle.clone()) })
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("all keys are strings")
}

/// Replaces the placeholder in a [`size`] by the real `tokens`. Digits are tokens of their own in
/// any context, so the rest stays the same.
fn exact(size: usize) -> usize {
    let digits = |number: usize| mc_tokens::count(&number.to_string());
    size + digits(size) - digits(TOKENS_PLACEHOLDER)
}

/// Makes a bundle without items fit: cuts the reason and drops the task if needed.
fn fit_envelope(mut bundle: Bundle, budget: TokenBudget) -> Bundle {
    if json_of(&bundle).len() <= budget.get() || size(&bundle) <= budget.get() {
        return bundle;
    }
    bundle.task = None;
    for chars in [120, 60, 30, 15] {
        if size(&bundle) > budget.get() {
            bundle.reason = bundle.reason.map(|reason| cut(&reason, chars));
        }
    }
    if size(&bundle) > budget.get() {
        bundle.reason = None;
    }
    while size(&bundle) > budget.get() && bundle.degraded.pop().is_some() {}
    bundle
}

#[derive(Debug, Clone)]
enum Item {
    Gotcha(Statement),
    Fact(Statement),
    FewShot(FewShot),
    Link(Link),
    Dialog(DialogExcerpt),
    Code(CodePlace),
}

fn put(bundle: &mut Bundle, item: Item) {
    match item {
        Item::Gotcha(statement) => bundle.gotchas.push(statement),
        Item::Fact(statement) => bundle.facts.push(statement),
        Item::FewShot(shot) => bundle.few_shots.push(shot),
        Item::Link(link) => bundle.links.push(link),
        Item::Dialog(dialog) => bundle.dialogs.push(dialog),
        Item::Code(place) => bundle.code.push(place),
    }
}

fn remove_last(bundle: &mut Bundle, section: Section) {
    match section {
        Section::Gotchas => drop(bundle.gotchas.pop()),
        Section::Facts => drop(bundle.facts.pop()),
        Section::FewShots => drop(bundle.few_shots.pop()),
        Section::Links => drop(bundle.links.pop()),
        Section::Dialogs => drop(bundle.dialogs.pop()),
        Section::Code => drop(bundle.code.pop()),
    }
}

/// Additional tokens per item: the comma after it.
const SEPARATOR_TOKENS: usize = 1;

/// Returns an item as JSON. A handle as long as any stands for its own, which is assigned at the
/// end.
fn json_of_item(item: &Item) -> String {
    let handle = "m99".to_owned();
    match item {
        Item::Gotcha(item) | Item::Fact(item) => json(&render::statement(handle, item.clone())),
        Item::FewShot(item) => json(&render::few_shot(handle, item.clone())),
        Item::Link(item) => json(&render::link(handle, item.clone())),
        Item::Dialog(item) => json(&render::dialog(handle, item.clone())),
        Item::Code(item) => json(&render::code(handle, item.clone())),
    }
}

/// Items in the order in which they are tried.
struct ItemOrder {
    order: std::vec::IntoIter<Item>,
    counts: [usize; Section::ALL.len()],
}

impl ItemOrder {
    fn taken_from(bundle: &mut Bundle) -> Self {
        let gotchas = take(&mut bundle.gotchas).into_iter().map(Item::Gotcha);
        let facts = take(&mut bundle.facts).into_iter().map(Item::Fact);
        let shots = take(&mut bundle.few_shots).into_iter().map(Item::FewShot);
        let links = take(&mut bundle.links).into_iter().map(Item::Link);
        let dialogs = take(&mut bundle.dialogs).into_iter().map(Item::Dialog);
        let code = take(&mut bundle.code).into_iter().map(Item::Code);
        let mut order: Vec<Item> =
            gotchas.chain(facts).chain(shots).chain(links).chain(dialogs).chain(code).collect();
        // The sort is stable: items of one score keep the order of the sections.
        order.sort_by(|a, b| is_record(b).cmp(&is_record(a)).then(score(b).total_cmp(&score(a))));
        sort_by_trust(&mut order, trust);
        Self { order: order.into_iter(), counts: [0; Section::ALL.len()] }
    }

    /// Returns the next item whose section is not full.
    fn next(&mut self) -> Option<Item> {
        let counts = &self.counts;
        self.order.find(|item| counts[section(item) as usize] < section_max(section(item)))
    }

    fn count_taken(&mut self, item: &Item) {
        self.counts[section(item) as usize] += 1;
    }
}

fn is_record(item: &Item) -> bool {
    match item {
        Item::Gotcha(_) | Item::Fact(_) | Item::FewShot(_) => true,
        Item::Link(link) => matches!(link.target, LinkTarget::Record(_)),
        Item::Dialog(_) | Item::Code(_) => false,
    }
}

fn score(item: &Item) -> f32 {
    match item {
        Item::Gotcha(item) | Item::Fact(item) => item.score,
        Item::FewShot(item) => item.score,
        Item::Link(item) => item.score,
        Item::Dialog(item) => item.score,
        Item::Code(item) => item.score,
    }
}

fn trust(item: &Item) -> Trust {
    match item {
        Item::Gotcha(item) | Item::Fact(item) => item.trust,
        Item::FewShot(item) => item.trust,
        Item::Link(item) => item.trust,
        Item::Dialog(item) => item.trust,
        Item::Code(item) => item.trust,
    }
}

fn section_max(section: Section) -> usize {
    match section {
        Section::Gotchas => GOTCHAS_MAX,
        Section::Facts => FACTS_MAX,
        Section::FewShots => FEW_SHOTS_MAX,
        Section::Links => LINKS_MAX,
        Section::Dialogs => DIALOGS_MAX,
        Section::Code => CODE_MAX,
    }
}

fn section(item: &Item) -> Section {
    match item {
        Item::Gotcha(_) => Section::Gotchas,
        Item::Fact(_) => Section::Facts,
        Item::FewShot(_) => Section::FewShots,
        Item::Link(_) => Section::Links,
        Item::Dialog(_) => Section::Dialogs,
        Item::Code(_) => Section::Code,
    }
}
