//! Hundreds of generated edits in a real repository: a record turns stale exactly if its cited code
//! was edited.

mod checkout;
mod citing;
mod edits;
mod language;
mod tree;

use std::collections::{BTreeMap, HashMap, HashSet};

use mc_domain::{CitationVerdict, RecordId, RecordState};
use mc_store::citations::{self, Citation};
use mc_store::records::{self, RecordFilter};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::support::World;
use checkout::Checkout;
use citing::{cite_file, cite_method, is_by_name};
use edits::{Edit, Harmless, any_path};
use tree::{Method, MethodId, SourceFile, Tree};

const SEED: u64 = 20_261_121;
const FILES_PER_LANGUAGE: usize = 16;
const METHODS_PER_FILE: usize = 6;
const ROUNDS: usize = 8;
/// Edits of a round, besides one moved and one deleted file.
const EDITS: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::print_stdout, reason = "the figures say what was measured")]
async fn only_edits_of_cited_code_make_records_stale() {
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
    let fresh = run.methods.len() - run.edited.len();
    println!("{} edits: {} citations edited, {fresh} fresh", run.edits, run.edited.len());
    assert!(run.edits >= 200, "{} edits", run.edits);
    assert!(run.edited.len() >= 200 && fresh >= 200, "{} edited, {fresh} fresh", run.edited.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_masking_policy_makes_no_record_stale() {
    let world = World::new().await;
    let checkout = Checkout::new(world.store(), world.project);
    let mut tree = Tree::generate(&mut StdRng::seed_from_u64(SEED), 1, 2);
    for file in tree.files.values_mut() {
        file.preamble.push("// ask vera.lang@acme-widgets.io".into());
    }
    checkout.push(&tree).await;
    let mut cited = Vec::new();
    for (path, file) in &tree.files {
        cited.push(cite_file(&world, path, file).await);
        cited.push(cite_method(&world, path, file, 0).await);
    }
    let hashes = async || {
        let found = citations::of_records(world.store(), &cited).await.unwrap();
        assert!(found.iter().all(|one| one.verdict == CitationVerdict::Fresh), "{found:?}");
        found.into_iter().map(|one| (one.id, one.content_hash)).collect::<BTreeMap<_, _>>()
    };
    let before = hashes().await;
    let policy = r#"{"sanitizer": {"categories": {"email": "allow"}}}"#;
    let set = format!("update projects set policy = '{policy}' where key = 'shop'");
    mc_store::testing::execute(world.url(), &set).await.unwrap();
    checkout.index(&tree).await;
    let after = hashes().await;
    assert_ne!(before, after, "the text is another one");

    // From then on, an edit is noticed.
    let file = tree.files.values_mut().next().expect("a file");
    file.preamble.push("// ask bo.berg@acme-widgets.io".into());
    checkout.push(&tree).await;
    let found = citations::of_records(world.store(), &cited[..1]).await.unwrap();
    assert_eq!(found[0].verdict, CitationVerdict::Drifted);
}

/// The tree, the records that cite its methods and files, and the effect of the edits.
struct Run {
    world: World,
    checkout: Checkout,
    tree: Tree,
    random: StdRng,
    methods: HashMap<RecordId, MethodId>,
    /// Records that cite a whole file, by path and text.
    files: HashMap<RecordId, (String, String)>,
    /// Methods whose cited lines were changed, and by which edit.
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
        let (mut methods, mut files) = (HashMap::new(), HashMap::new());
        for (number, (path, file)) in tree.files.iter().enumerate() {
            for (at, method) in file.methods.iter().enumerate() {
                methods.insert(cite_method(&world, path, file, at).await, method.id);
            }
            if number.is_multiple_of(5) {
                files.insert(cite_file(&world, path, file).await, (path.clone(), file.text()));
            }
        }
        let edited = BTreeMap::new();
        let run = Self { world, checkout, tree, random, methods, files, edited, edits: 0 };
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

    /// Citations by name are found again, citations by lines are not.
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
        id.0 < self.methods.len() && !self.edited.contains_key(&id)
    }

    /// Compares the state and cited place of every record with the edits.
    async fn check(&self) {
        let store = self.world.store();
        let live = records::list(store, self.world.project, &RecordFilter::default(), None, 1_000)
            .await
            .unwrap();
        assert_eq!(live.len(), self.methods.len() + self.files.len());
        let ids: Vec<RecordId> = live.iter().map(|record| record.id).collect();
        let stale: HashSet<RecordId> = live
            .iter()
            .filter(|record| record.state == RecordState::Stale)
            .map(|record| record.id)
            .collect();
        let cited = citations::of_records(store, &ids).await.unwrap();
        let wrong: Vec<String> = cited
            .iter()
            .filter_map(|citation| self.fault(citation, stale.contains(&citation.record)))
            .collect();
        assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), ids.len());
    }

    /// Returns the mistake in a citation or the state of its record.
    fn fault(&self, citation: &Citation, is_stale: bool) -> Option<String> {
        let found = (is_stale, citation.verdict);
        let at = (citation.file_path.clone(), citation.lines);
        match self.edit_of(citation) {
            Some(_) if is_stale && citation.verdict != CitationVerdict::Fresh => None,
            Some(edit) => Some(format!("not flagged: {edit}, {found:?} {at:?}")),
            None if found == (false, CitationVerdict::Fresh) && at == self.place(citation) => None,
            None => Some(format!("fresh: {found:?} {at:?}, stands at {:?}", self.place(citation))),
        }
    }

    /// Returns the edit that changed the cited code, if one did.
    fn edit_of(&self, citation: &Citation) -> Option<&str> {
        match self.files.get(&citation.record) {
            Some((path, text)) => {
                let is_same = self.tree.files.get(path).is_some_and(|file| file.text() == *text);
                (!is_same).then_some("somewhere in the file")
            }
            None => self.edited.get(&self.methods[&citation.record]).map(String::as_str),
        }
    }

    /// Returns the current place of cited text that no edit changed.
    fn place(&self, citation: &Citation) -> (String, Option<(i32, i32)>) {
        let Some(id) = self.methods.get(&citation.record) else {
            return (citation.file_path.clone(), None);
        };
        let (path, at) = self.tree.place_of(*id).expect("a fresh one stands somewhere");
        let lines = self.tree.files[&path].cited_lines(at);
        (path, Some(lines))
    }
}
