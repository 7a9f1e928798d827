//! Reasoning schemas (SGR): the built-in ones, and those of a project, which override the built-in
//! ones of the same name.

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
    Schemas::read(store, project).await?.list()
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
    let mut schemas = Schemas::read(&ctx.store, Some(project)).await?;
    schemas.set(source)?;
    let mut tx = ctx.store.begin().await?;
    let is_new = sgr_schemas::put(&mut tx, project, name, &file, SCHEMAS_MAX).await?;
    let is_new = is_new.ok_or(Error::TooManySchemas)?;
    audit(&mut tx, AuditAction::SgrSchemaSet, name);
    tx.commit().await?;
    Ok((get(&ctx.store, Some(project), name).await?, is_new))
}

/// Deletes a schema of the project; a built-in one of the same name is used again.
pub async fn delete(ctx: &MemoryContext, project: ProjectId, name: &str) -> Result<(), Error> {
    let mut schemas = Schemas::read(&ctx.store, Some(project)).await?;
    schemas.remove(name)?;
    let mut tx = ctx.store.begin().await?;
    if !sgr_schemas::delete(&mut tx, project, name).await? {
        return Err(schemas.unknown(name));
    }
    audit(&mut tx, AuditAction::SgrSchemaDeleted, name);
    Ok(tx.commit().await?)
}

fn audit(tx: &mut Tx, action: AuditAction, name: &str) {
    audit::record(tx, NewEvent::new(action, name));
}

/// The schemas of a project.
struct Schemas {
    sources: Vec<SchemaSource>,
    stored: Vec<StoredSchema>,
}

impl Schemas {
    async fn read(store: &Store, project: Option<ProjectId>) -> Result<Self, Error> {
        let stored = match project {
            Some(project) => sgr_schemas::list(store, project).await?,
            None => Vec::new(),
        };
        let parse = |stored: &StoredSchema| {
            let parsed = SchemaSource::parse(&stored.source);
            parsed.map_err(|error| Error::BrokenSchema { schema: stored.name.clone(), error })
        };
        Ok(Self { sources: stored.iter().map(parse).collect::<Result<_, _>>()?, stored })
    }

    /// Returns a schema of the project.
    fn own(&self, name: &str) -> Option<&SchemaSource> {
        self.sources.iter().find(|source| source.name == name)
    }

    /// Adds the steps of the schemas that it extends. One that extends its own name extends the
    /// built-in schema.
    fn resolve(&self, source: &SchemaSource) -> Result<Schema, InvalidSchema> {
        source.resolve(|child, name| {
            let own = self.own(name).filter(|_| child.name != name);
            own.or_else(|| mc_sgr::find_built_in_source(name))
        })
    }

    fn list(&self) -> Result<Vec<FoundSchema>, Error> {
        let own = self.sources.iter().map(|source| self.found(source));
        let mut all: Vec<_> = own.collect::<Result<_, _>>()?;
        let built_in = mc_sgr::built_in().iter().filter(|schema| self.own(schema.name()).is_none());
        all.extend(built_in.map(|schema| FoundSchema { schema: schema.clone(), stored: None }));
        all.sort_by(|a, b| a.schema.name().cmp(b.schema.name()));
        Ok(all)
    }

    fn get(&self, name: &str) -> Result<FoundSchema, Error> {
        if let Some(source) = self.own(name) {
            return self.found(source);
        }
        let built_in = mc_sgr::built_in().iter().find(|schema| schema.name() == name);
        let schema = built_in.ok_or_else(|| self.unknown(name))?.clone();
        Ok(FoundSchema { schema, stored: None })
    }

    fn found(&self, source: &SchemaSource) -> Result<FoundSchema, Error> {
        let schema = self.resolve(source);
        let schema =
            schema.map_err(|error| Error::BrokenSchema { schema: source.name.clone(), error })?;
        let stored = self.stored.iter().find(|stored| stored.name == source.name).cloned();
        Ok(FoundSchema { schema, stored })
    }

    /// Adds or replaces a schema, if it and those that extend it can be resolved.
    fn set(&mut self, source: SchemaSource) -> Result<(), Error> {
        self.sources.retain(|own| own.name != source.name);
        self.resolve(&source)?;
        self.sources.push(source);
        self.check()
    }

    /// Removes a schema, if those that extend it can still be resolved.
    fn remove(&mut self, name: &str) -> Result<(), Error> {
        self.sources.retain(|own| own.name != name);
        self.check()
    }

    fn check(&self) -> Result<(), Error> {
        self.sources.iter().try_for_each(|source| {
            let child = || source.name.clone();
            let broken = |error| Error::SchemaInUse { child: child(), error };
            self.resolve(source).map(drop).map_err(broken)
        })
    }

    /// Returns the error for a name that no schema has.
    fn unknown(&self, name: &str) -> Error {
        let own = self.sources.iter().map(|source| source.name.as_str());
        let built_in = mc_sgr::built_in().iter().map(Schema::name);
        let mut known: Vec<_> = own.chain(built_in).map(str::to_owned).collect();
        known.sort();
        known.dedup();
        Error::UnknownSchema { name: name.to_owned(), known: known.join(", ") }
    }
}
