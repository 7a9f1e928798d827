//! Tests whether writes of other projects change ranks or scores of hits.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::attempt::{Answer, Attempt};
use crate::oracle::{self, Scope};
use crate::run::Fault;
use crate::world::{Project, SHARED_SYMBOL, World};

/// More than a leg asks for at most.
const FLOOD: usize = 450;

pub async fn interference(world: &Arc<World>) -> Result<(), Fault> {
    let ours = world.projects.iter().find(|one| one.is_main).expect("a project");
    let before = answers(world, ours).await?;
    let theirs = world
        .projects
        .iter()
        .find(|one| one.is_main && one.tenant != ours.tenant)
        .expect("another");
    flood(world, theirs).await?;
    let after = answers(world, ours).await?;
    for ((query, one), (_, other)) in before.iter().zip(&after) {
        if one != other {
            return Err(format!(
                "what another tenant wrote changes what {query:?} finds:\n{one}\n{other}"
            ));
        }
    }
    Ok(())
}

/// Returns the hits of each query, in order, with the scores of the retrievers.
async fn answers(world: &World, project: &Project) -> Result<Vec<(String, Value)>, Fault> {
    let fits = |one: &&crate::world::Credential| one.is_valid && one.is_for(Scope::Read);
    let mut readers = world.people.iter().filter(|one| oracle::role(one, project).is_some());
    let bearer =
        &readers.find_map(|one| one.credentials.iter().find(fits)).expect("a reader").bearer;
    let mut queries: Vec<String> = ["delay", "timeout", "retry", "rounding", "cache", "lock"]
        .map(|subject| format!("why is the {subject} of the cart timer wrong at the gateway?"))
        .into();
    // A symbol that the code of each tenant defines.
    queries.push(SHARED_SYMBOL.into());
    queries.extend(project.passages.iter().take(6).map(|thing| thing.mark.clone()));
    let mut answers = Vec::new();
    for query in queries {
        let body = json!({"project_key": project.key, "query": query, "limit": 100, "explain": true,
            "time_budget_ms": 20_000});
        let attempt =
            Attempt::post("/search", &body).header("authorization", format!("Bearer {bearer}"));
        let answer = Answer::to(&attempt, world).await;
        let results = answer.body["results"].as_array().filter(|results| !results.is_empty());
        let results = results.ok_or_else(|| {
            format!("{query:?} finds nothing: the probe is blind: {}", answer.text())
        })?;
        let found = results
            .iter()
            .map(|one| json!([one["id"], one["explain"]["legs"], one["explain"]["fused"]]));
        answers.push((query, found.collect()));
    }
    Ok(answers)
}

/// Texts with the very words of the queries, and vectors that are nearer than all.
async fn flood(world: &World, theirs: &Project) -> Result<(), Fault> {
    let doc = theirs.docs[0].id;
    let sql = format!(
        "do $flood$ begin
         insert into passages (id, project_id, doc_id, title, text, content_hash, ordinal, symbols)
         select gen_random_uuid(), '{0}', '{doc}', 'Why',
             'why is the ' || (array['delay', 'timeout', 'retry', 'rounding', 'cache', 'lock'])[1 \
             + n % 6]
                 || ' of the cart timer wrong at the gateway', sha256(n::text::bytea), n, \
                 array['{SHARED_SYMBOL}']
         from generate_series(1, {FLOOD}) n;
         insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, \
         embedding)
         select (select max(id) from embedding_models), p.id, p.project_id, p.source_kind, \
         p.content_hash,
             (select embedding from embeddings where project_id = '{0}' limit 1)
         from passages p where p.doc_id = '{doc}' and p.title = 'Why';
         end $flood$",
        theirs.id
    );
    mc_store::testing::execute(world.url(), &sql).await.map_err(|error| error.to_string())
}
