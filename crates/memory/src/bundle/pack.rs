//! Filling a token budget.

use mc_domain::{BundleId, BundleSection as Section, Trust};

use super::render::{self, as_json};
use super::{
    Bundle, CODE_MAX, CodePlace, DIALOGS_MAX, FACTS_MAX, FEW_SHOTS_MAX, FewShot, GOTCHAS_MAX,
    LINKS_MAX, Link, Statement, Talk, TaskHead, vouched_first,
};
use crate::text::cut;
use crate::tokens::{self, TokenBudget};

/// What might go into a bundle, each section best first.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// Rules and warnings.
    pub gotchas: Vec<Statement>,
    /// Facts and patterns.
    pub facts: Vec<Statement>,
    /// Worked examples.
    pub few_shots: Vec<FewShot>,
    /// Decisions and documents.
    pub links: Vec<Link>,
    /// What came out of conversations.
    pub dialogs: Vec<Talk>,
    /// Places in the code.
    pub code: Vec<CodePlace>,
}

/// What a bundle says beside its contents.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// Names the bundle.
    pub id: BundleId,
    /// How sure it is that this helps, 0 to 1.
    pub confidence: f32,
    /// Parts of the search that were late or away.
    pub degraded: Vec<String>,
    /// Why the bundle is empty, should it be.
    pub reason: Option<String>,
    /// The task.
    pub task: Option<TaskHead>,
}

/// Why a bundle is empty although something was found.
const NO_ROOM: &str = "limit_tokens is too small for what was found";

/// Digits that `tokens` itself may take, counted before its value is known.
const TOKENS_PLACEHOLDER: usize = TokenBudget::MAX;

/// A bundle whose JSON costs at most `budget` tokens. Rounds go through the sections in the order
/// of their worth, each taking its best that is left, so that a small budget still holds the best
/// of each: gotchas first, then facts, examples, links, dialogs, code. What nobody vouches for is tried
/// when all else has been.
pub fn pack(envelope: Envelope, contents: Contents, budget: TokenBudget) -> Bundle {
    let had_contents = !is_empty(&contents);
    let mut bundle = fit_envelope(envelope, budget);
    let mut queues = Queues::new(contents);
    let mut spent = size(&bundle);
    let mut taken = Vec::new();
    while let Some(item) = queues.next() {
        let cost = cost(&item);
        if spent + cost <= budget.get() {
            spent += cost;
            queues.took(&item);
            taken.push(section(&item));
            put(&mut bundle, item);
        }
    }
    // Tokens of parts need not add up to the tokens of the whole; the whole is what counts.
    let mut whole = size(&bundle);
    while whole > budget.get()
        && let Some(section) = taken.pop()
    {
        take_back(&mut bundle, section);
        whole = size(&bundle);
    }
    if bundle.is_empty() && bundle.reason.is_none() {
        if had_contents {
            let told = Bundle { reason: Some(NO_ROOM.to_owned()), ..bundle.clone() };
            bundle = if size(&told) <= budget.get() { told } else { bundle };
        }
        bundle.confidence = 0.0;
        whole = size(&bundle);
    }
    bundle.tokens = exact(whole);
    bundle
}

/// Tokens of the bundle as it may be handed out, with room for its own `tokens` field.
fn size(bundle: &Bundle) -> usize {
    let sized = Bundle { tokens: TOKENS_PLACEHOLDER, ..bundle.clone() };
    tokens::count(&as_json(&sized).to_string())
}

/// A [`size`] with the real `tokens` in the place of the placeholder. Digits are tokens of their own,
/// whatever stands around them, so nothing else needs to be counted again.
fn exact(size: usize) -> usize {
    let digits = |number: usize| tokens::count(&number.to_string());
    size + digits(size) - digits(TOKENS_PLACEHOLDER)
}

/// A bundle without contents that fits: the reason is cut and the task left out if need be.
fn fit_envelope(envelope: Envelope, budget: TokenBudget) -> Bundle {
    let mut bundle = Bundle {
        id: envelope.id,
        gotchas: Vec::new(),
        facts: Vec::new(),
        few_shots: Vec::new(),
        links: Vec::new(),
        dialogs: Vec::new(),
        code: Vec::new(),
        confidence: envelope.confidence,
        tokens: 0,
        degraded: envelope.degraded,
        reason: envelope.reason,
        task: envelope.task,
    };
    if size(&bundle) > budget.get() {
        bundle.task = None;
    }
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

/// One thing of a bundle, with its section.
#[derive(Debug, Clone)]
enum Item {
    Gotcha(Statement),
    Fact(Statement),
    FewShot(FewShot),
    Link(Link),
    Talk(Talk),
    Code(CodePlace),
}

fn put(bundle: &mut Bundle, item: Item) {
    match item {
        Item::Gotcha(statement) => bundle.gotchas.push(statement),
        Item::Fact(statement) => bundle.facts.push(statement),
        Item::FewShot(shot) => bundle.few_shots.push(shot),
        Item::Link(link) => bundle.links.push(link),
        Item::Talk(talk) => bundle.dialogs.push(talk),
        Item::Code(place) => bundle.code.push(place),
    }
}

fn take_back(bundle: &mut Bundle, section: Section) {
    match section {
        Section::Gotchas => drop(bundle.gotchas.pop()),
        Section::Facts => drop(bundle.facts.pop()),
        Section::FewShots => drop(bundle.few_shots.pop()),
        Section::Links => drop(bundle.links.pop()),
        Section::Dialogs => drop(bundle.dialogs.pop()),
        Section::Code => drop(bundle.code.pop()),
    }
}

/// Tokens of an item alone, with the comma that parts it from the next.
fn cost(item: &Item) -> usize {
    let json = match item {
        Item::Gotcha(item) | Item::Fact(item) => render::statement(item),
        Item::FewShot(item) => render::few_shot(item),
        Item::Link(item) => render::link(item),
        Item::Talk(item) => render::talk(item),
        Item::Code(item) => render::code(item),
    };
    tokens::count(&json.to_string()) + 1
}

fn is_empty(contents: &Contents) -> bool {
    contents.gotchas.is_empty()
        && contents.facts.is_empty()
        && contents.few_shots.is_empty()
        && contents.links.is_empty()
        && contents.dialogs.is_empty()
        && contents.code.is_empty()
}

/// The order in which items are tried: two gotchas and two facts a round for one of the others.
struct Queues {
    order: std::vec::IntoIter<Item>,
    counts: [usize; Section::ALL.len()],
}

impl Queues {
    fn new(contents: Contents) -> Self {
        let mut gotchas = queue(contents.gotchas, Item::Gotcha);
        let mut facts = queue(contents.facts, Item::Fact);
        let mut shots = queue(contents.few_shots, Item::FewShot);
        let mut links = queue(contents.links, Item::Link);
        let mut dialogs = queue(contents.dialogs, Item::Talk);
        let mut code = queue(contents.code, Item::Code);
        let mut order = Vec::new();
        loop {
            let before = order.len();
            order.extend(gotchas.by_ref().take(2));
            order.extend(facts.by_ref().take(2));
            order.extend(shots.by_ref().take(1));
            order.extend(links.by_ref().take(1));
            order.extend(dialogs.by_ref().take(1));
            order.extend(code.by_ref().take(1));
            if order.len() == before {
                break;
            }
        }
        vouched_first(&mut order, trust);
        Self { order: order.into_iter(), counts: [0; Section::ALL.len()] }
    }

    /// The next item whose section is not full.
    fn next(&mut self) -> Option<Item> {
        let counts = &self.counts;
        self.order.find(|item| counts[section(item) as usize] < most(section(item)))
    }

    fn took(&mut self, item: &Item) {
        self.counts[section(item) as usize] += 1;
    }
}

/// A section's items. What nobody vouches for stands behind the others here already: in front of them it
/// would take their turn in a round.
fn queue<T>(items: Vec<T>, item: fn(T) -> Item) -> std::vec::IntoIter<Item> {
    let mut items: Vec<_> = items.into_iter().map(item).collect();
    vouched_first(&mut items, trust);
    items.into_iter()
}

fn trust(item: &Item) -> Trust {
    match item {
        Item::Gotcha(item) | Item::Fact(item) => item.trust,
        Item::FewShot(item) => item.trust,
        Item::Link(item) => item.trust,
        Item::Talk(item) => item.trust,
        Item::Code(item) => item.trust,
    }
}

fn most(section: Section) -> usize {
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
        Item::Talk(_) => Section::Dialogs,
        Item::Code(_) => Section::Code,
    }
}
