//! Reasoning schemas (SGR): the built-in ones, and those of a project, which override the built-in
//! ones of the same name.

use std::sync::OnceLock;

use mc_contract::operations::prompt::SYSTEM_PROMPT;
use mc_domain::{AuditAction, ProjectId};
use mc_sgr::{InvalidSchema, Schema, SchemaSource};
use mc_store::audit::{self, NewEvent};
use mc_store::sgr_schemas::{self, StoredSchema};
use mc_store::{Store, Tx};

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus};
use crate::{Error, MemoryContext};

/// Most schemas of a project.
pub const SCHEMAS_MAX: u16 = 20;

/// A schema, ready for use.
#[derive(Debug, Clone)]
pub struct FoundSchema {
    /// The schema with the steps of those that it extends.
    pub schema: Schema,
    /// The project's file; `None` if the schema is built in.
    pub stored: Option<StoredSchema>,
}

/// Lists the schemas that a project may use, by name; the built-in ones without a project.
pub async fn list(store: &Store, project: Option<ProjectId>) -> Result<Vec<FoundSchema>, Error> {
    Ok(Schemas::read(store, project).await?.list())
}

/// Returns a schema that a project may use, or a built-in one without a project.
pub async fn get(
    store: &Store,
    project: Option<ProjectId>,
    name: &str,
) -> Result<FoundSchema, Error> {
    Schemas::read(store, project).await?.get(name)
}

/// Creates or replaces a schema of the project, from its YAML file, which is masked under the
/// policy. Returns it, and whether it is new.
pub async fn set(
    ctx: &MemoryContext,
    project: ProjectId,
    name: &str,
    file: &str,
) -> Result<(FoundSchema, bool), Error> {
    if name == SYSTEM_PROMPT {
        return Err(Error::ReservedSchema(name.to_owned()));
    }
    // A maintainer sends the file, who would decide about quarantined texts as well.
    let mut filter = ContentFilter::new(&ctx.policy, ReviewStatus::Reviewed);
    let file = filter.filter_text(file);
    if let FilterDecision::Reject(reasons) = filter.decision() {
        return Err(Error::ForbiddenSchema(reasons.join(", ")));
    }
    let file = filter.filter_again(&file);
    let source = SchemaSource::parse(file.as_str())?;
    if source.name != name {
        return Err(Error::MisnamedSchema { path: name.to_owned(), file: source.name });
    }
    let mut tx = ctx.store.begin().await?;
    let mut schemas = Schemas::of(sgr_schemas::lock(&mut tx, project).await?);
    let is_new = schemas.set(source)?;
    sgr_schemas::put(&mut tx, project, name, &file).await?;
    audit(&mut tx, AuditAction::SgrSchemaSet, name);
    tx.commit().await?;
    Ok((get(&ctx.store, Some(project), name).await?, is_new))
}

/// Deletes a schema of the project; a built-in one of the same name is used again.
pub async fn delete(ctx: &MemoryContext, project: ProjectId, name: &str) -> Result<(), Error> {
    let mut tx = ctx.store.begin().await?;
    let mut schemas = Schemas::of(sgr_schemas::lock(&mut tx, project).await?);
    schemas.remove(name)?;
    if !sgr_schemas::delete(&mut tx, project, name).await? {
        return Err(schemas.unknown(name));
    }
    audit(&mut tx, AuditAction::SgrSchemaDeleted, name);
    Ok(tx.commit().await?)
}

fn audit(tx: &mut Tx, action: AuditAction, name: &str) {
    audit::record(tx, NewEvent::new(action, name));
}

/// The schemas of a project. One that this version of the program can't use does not affect the
/// others.
struct Schemas {
    own: Vec<OwnSchema>,
}

struct OwnSchema {
    stored: Option<StoredSchema>,
    name: String,
    /// The file, parsed when it is needed first.
    source: OnceLock<Result<SchemaSource, InvalidSchema>>,
}

impl OwnSchema {
    fn new(source: SchemaSource) -> Self {
        Self { stored: None, name: source.name.clone(), source: Ok(source).into() }
    }

    fn stored(stored: StoredSchema) -> Self {
        Self { name: stored.name.clone(), stored: Some(stored), source: OnceLock::new() }
    }

    fn source(&self) -> Result<&SchemaSource, &InvalidSchema> {
        let file = self.stored.as_ref().map_or("", |stored| &stored.source);
        self.source.get_or_init(|| SchemaSource::parse(file)).as_ref()
    }
}

impl Schemas {
    async fn read(store: &Store, project: Option<ProjectId>) -> Result<Self, Error> {
        Ok(Self::of(match project {
            Some(project) => sgr_schemas::list(store, project).await?,
            None => Vec::new(),
        }))
    }

    fn of(stored: Vec<StoredSchema>) -> Self {
        Self { own: stored.into_iter().map(OwnSchema::stored).collect() }
    }

    fn own(&self, name: &str) -> Option<&OwnSchema> {
        self.own.iter().find(|own| own.name == name)
    }

    /// Adds the steps of the schemas that it extends. One that extends its own name extends the
    /// built-in schema.
    fn resolve(&self, source: &SchemaSource) -> Result<Schema, InvalidSchema> {
        source.resolve(|child, name| match self.own(name).filter(|_| child.name != name) {
            Some(own) => own.source().ok(),
            None => mc_sgr::find_built_in_source(name),
        })
    }

    fn resolve_own(&self, own: &OwnSchema) -> Result<Schema, InvalidSchema> {
        self.resolve(own.source().map_err(Clone::clone)?)
    }

    /// Lists the schemas that can be used.
    fn list(&self) -> Vec<FoundSchema> {
        let mut all: Vec<_> = self.own.iter().filter_map(|own| self.found(own).ok()).collect();
        let built_in = mc_sgr::built_in().iter().filter(|schema| self.own(schema.name()).is_none());
        all.extend(built_in.map(|schema| FoundSchema { schema: schema.clone(), stored: None }));
        all.sort_by(|a, b| a.schema.name().cmp(b.schema.name()));
        all
    }

    fn get(&self, name: &str) -> Result<FoundSchema, Error> {
        if let Some(own) = self.own(name) {
            return self.found(own);
        }
        let built_in = mc_sgr::built_in().iter().find(|schema| schema.name() == name);
        let schema = built_in.ok_or_else(|| self.unknown(name))?.clone();
        Ok(FoundSchema { schema, stored: None })
    }

    fn found(&self, own: &OwnSchema) -> Result<FoundSchema, Error> {
        let broken = |error| Error::BrokenSchema { schema: own.name.clone(), error };
        let schema = self.resolve_own(own).map_err(broken)?;
        Ok(FoundSchema { schema, stored: own.stored.clone() })
    }

    /// Adds or replaces a schema, if it and those that extend it can be resolved. Returns whether
    /// it is new.
    fn set(&mut self, source: SchemaSource) -> Result<bool, Error> {
        let is_new = self.own(&source.name).is_none();
        if is_new && self.own.len() >= usize::from(SCHEMAS_MAX) {
            return Err(Error::TooManySchemas);
        }
        let broken = self.broken();
        self.own.retain(|own| own.name != source.name);
        self.resolve(&source)?;
        self.own.push(OwnSchema::new(source));
        self.check(&broken)?;
        Ok(is_new)
    }

    /// Removes a schema, if those that extend it can still be resolved.
    fn remove(&mut self, name: &str) -> Result<(), Error> {
        let broken = self.broken();
        self.own.retain(|own| own.name != name);
        self.check(&broken)
    }

    /// Returns the names of schemas that can't be used.
    fn broken(&self) -> Vec<String> {
        let broken = self.own.iter().filter(|own| self.resolve_own(own).is_err());
        broken.map(|own| own.name.clone()).collect()
    }

    /// Fails if a schema can't be used that could be used before.
    fn check(&self, broken_before: &[String]) -> Result<(), Error> {
        let mut others = self.own.iter().filter(|own| !broken_before.contains(&own.name));
        others.try_for_each(|own| {
            let in_use = |error| Error::SchemaInUse { child: own.name.clone(), error };
            self.resolve_own(own).map(drop).map_err(in_use)
        })
    }

    /// Returns the error for a name that no schema has.
    fn unknown(&self, name: &str) -> Error {
        let own = self.own.iter().map(|own| own.name.as_str());
        let built_in = mc_sgr::built_in().iter().map(Schema::name);
        let mut known: Vec<_> = own.chain(built_in).map(str::to_owned).collect();
        known.sort();
        known.dedup();
        Error::UnknownSchema { name: name.to_owned(), known: known.join(", ") }
    }
}
