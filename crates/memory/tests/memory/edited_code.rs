//! Hundreds of generated edits in a real repository: every record whose cited code was edited turns
//! stale, and no other does.

mod checkout;
mod edits;
mod language;
mod tree;

use std::collections::{BTreeMap, HashMap, HashSet};

use mc_domain::{RecordId, RecordState, Verdict};
use mc_memory::{NewCitation, SaveRequest};
use mc_store::citations::{self, Citation};
use mc_store::records;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::support::World;
use checkout::Checkout;
use edits::{Edit, Harmless, any_path};
use tree::{Method, MethodId, SourceFile, Tree};

const SEED: u64 = 20_261_121;
const FILES_PER_LANGUAGE: usize = 17;
const METHODS_PER_FILE: usize = 6;
const ROUNDS: usize = 8;
/// Edits of a round, besides one file that moves and one that is deleted.
const EDITS: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_edit_of_cited_code_is_flagged_and_no_fresh_citation_is() {
    let mut run = Run::start().await;
    for _ in 0..ROUNDS {
        for at in 0..EDITS {
            run.edit(Edit::ALL[at % Edit::ALL.len()]);
            let path = any_path(&run.tree, &mut run.random);
            Harmless::ALL[at % Harmless::ALL.len()].apply(&mut run.tree, &mut run.random, &path);
        }
        run.move_a_file();
        run.delete_a_file();
        run.checkout.push(&run.tree).await;
        run.check().await;
    }
    let fresh = run.records.len() - run.edited.len();
    eprintln!("{} edits, {} edited, {fresh} fresh", run.edits, run.edited.len());
    assert!(run.edits >= 200, "{} edits", run.edits);
    assert!(run.edited.len() >= 200 && fresh >= 200, "{} edited, {fresh} fresh", run.edited.len());
}

/// The tree, the records that cite its methods, and what the edits did to them.
struct Run {
    world: World,
    checkout: Checkout,
    tree: Tree,
    random: StdRng,
    records: HashMap<RecordId, MethodId>,
    /// Methods whose cited lines are no more what they were, and by which edit.
    edited: BTreeMap<MethodId, String>,
    edits: usize,
}

impl Run {
    async fn start() -> Self {
        let world = World::new().await;
        let checkout = Checkout::new(world.store(), world.project);
        let mut random = StdRng::seed_from_u64(SEED);
        let tree = Tree::generate(&mut random, FILES_PER_LANGUAGE, METHODS_PER_FILE);
        checkout.push(&tree).await;
        let mut records = HashMap::new();
        for (path, file, method) in tree.methods() {
            records.insert(cite(&world, path, file, method).await, method.id);
        }
        let run =
            Self { world, checkout, tree, random, records, edited: BTreeMap::new(), edits: 0 };
        run.check().await;
        run
    }

    /// Edits a method whose citation is fresh so far.
    fn edit(&mut self, edit: Edit) {
        let fresh: Vec<MethodId> = self
            .tree
            .methods()
            .filter(|(_, _, method)| self.is_fresh(method.id) && edit.applies_to(method))
            .map(|(_, _, method)| method.id)
            .collect();
        let id = *fresh.choose(&mut self.random).expect("a method to edit");
        let (path, at) = self.tree.place_of(id).expect("it stands somewhere");
        edit.apply(&mut self.tree, &mut self.random, &path, at);
        self.edited.insert(id, format!("{edit:?}"));
        self.edits += 1;
    }

    /// What is cited by its name is found again, what is cited by its lines is not.
    fn move_a_file(&mut self) {
        let path = any_path(&self.tree, &mut self.random);
        let file = self.tree.files.remove(&path).expect("a file");
        self.lose(&file, "file moved", |method| !is_by_name(method.id));
        let moved = format!("src/moved/{}/{}", self.random.random_range(0..9), path);
        self.tree.files.insert(moved, file);
    }

    fn delete_a_file(&mut self) {
        let path = any_path(&self.tree, &mut self.random);
        let file = self.tree.files.remove(&path).expect("a file");
        self.lose(&file, "file deleted", |_| true);
    }

    fn lose(&mut self, file: &SourceFile, how: &str, is_lost: impl Fn(&Method) -> bool) {
        let lost = file.methods.iter().filter(|method| is_lost(method)).map(|method| method.id);
        let fresh: Vec<_> = lost.filter(|id| self.is_fresh(*id)).collect();
        self.edited.extend(fresh.into_iter().map(|id| (id, how.to_owned())));
        self.edits += 1;
    }

    fn is_fresh(&self, id: MethodId) -> bool {
        id.0 < self.records.len() && !self.edited.contains_key(&id)
    }

    /// Holds the state of every record, and the place that it cites, against what was edited.
    async fn check(&self) {
        let ids: Vec<RecordId> = self.records.keys().copied().collect();
        let store = self.world.store();
        let live = records::list(store, self.world.project, None, None, 1_000).await.unwrap();
        let stale: HashSet<_> = live
            .iter()
            .filter(|record| record.state == RecordState::Stale)
            .map(|record| record.id)
            .collect();
        assert_eq!(live.len(), ids.len());
        let mut wrong = Vec::new();
        for citation in citations::of_records(store, &ids).await.unwrap() {
            let id = self.records[&citation.record];
            let is_stale = stale.contains(&citation.record);
            if let Some(fault) = self.fault(id, is_stale, &citation) {
                wrong.push(fault);
            }
        }
        assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), ids.len());
    }

    fn fault(&self, id: MethodId, is_stale: bool, citation: &Citation) -> Option<String> {
        let found = (is_stale, citation.verdict);
        let at = (citation.file_path.clone(), citation.lines);
        match self.edited.get(&id) {
            Some(_) if is_stale && citation.verdict != Verdict::Fresh => None,
            Some(edit) => Some(format!("not flagged: {edit}, {found:?} {at:?}")),
            None if found == (false, Verdict::Fresh) && at == self.place(id) => None,
            None => Some(format!("fresh: {found:?} {at:?}, stands at {:?}", self.place(id))),
        }
    }

    /// Where the cited lines of a method stand now.
    fn place(&self, id: MethodId) -> (String, Option<(i32, i32)>) {
        let (path, at) = self.tree.place_of(id).expect("a fresh one stands somewhere");
        let lines = self.tree.files[&path].cited_lines(at);
        (path, Some(lines))
    }
}

/// A third of the methods is cited by name, the others by their lines or some of them.
fn is_by_name(id: MethodId) -> bool {
    id.0.is_multiple_of(3)
}

async fn cite(world: &World, path: &str, file: &SourceFile, method: &Method) -> RecordId {
    let name = file.language.qualified(&file.class, &method.name);
    let at = file.methods.iter().position(|other| other.id == method.id).expect("it is here");
    let by_name = is_by_name(method.id);
    let citation = NewCitation {
        file: path.to_owned(),
        symbol: by_name.then(|| name.clone()),
        lines: (!by_name).then(|| file.cited_lines(at)),
        commit: None,
        content_hash: None,
    };
    let note = SaveRequest {
        citations: vec![citation],
        ..world.note(&format!("{name} has to run before the month is closed"))
    };
    world.created(&note).await
}
