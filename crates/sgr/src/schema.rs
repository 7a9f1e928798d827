//! A schema with the steps of those that it extends.

use serde_json::Value;

use crate::error::{Defect, Defects};
use crate::limits::{EXTENDS_MAX, STEPS_MAX};
use crate::source::{SchemaSource, Step, StepSource, placeholder_count};
use crate::template::Template;
use crate::{InvalidSchema, check};

/// A schema, ready for use: its steps include those of the schemas that it extends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    name: String,
    title: Option<Template>,
    description: Option<Template>,
    steps: Vec<Step>,
}

impl SchemaSource {
    /// Adds the steps of the schemas that this one extends. `find` returns the parent of a schema
    /// by its name. A step replaces the inherited one with the same output, in its place. Title and
    /// description are inherited if this schema has none.
    pub fn resolve<'a, 'p: 'a>(
        &'a self,
        find: impl Fn(&SchemaSource, &str) -> Option<&'p SchemaSource>,
    ) -> Result<Schema, InvalidSchema> {
        let chain = chain(self, find)?;
        let mut steps = Vec::new();
        chain.iter().rev().for_each(|source| add_steps(&mut steps, source));
        let schema = Schema {
            name: self.name.clone(),
            title: chain.iter().find_map(|source| source.title.clone()),
            description: chain.iter().find_map(|source| source.description.clone()),
            steps,
        };
        schema.check().map_err(InvalidSchema::Defects)?;
        Ok(schema)
    }
}

/// Returns a schema and those that it extends, the nearest first.
fn chain<'a, 'p: 'a>(
    source: &'a SchemaSource,
    find: impl Fn(&SchemaSource, &str) -> Option<&'p SchemaSource>,
) -> Result<Vec<&'a SchemaSource>, InvalidSchema> {
    let mut chain = vec![source];
    let mut names = vec![source.name.clone()];
    let mut child = source;
    while let Some(name) = child.extends.as_deref() {
        names.push(name.to_owned());
        let Some(parent) = find(child, name) else {
            return Err(InvalidSchema::UnknownParent(names));
        };
        // Not by name: a project's schema may extend the built-in one that it overrides.
        if chain.contains(&parent) {
            return Err(InvalidSchema::ExtendsCycle(names));
        }
        if chain.len() > EXTENDS_MAX {
            return Err(InvalidSchema::ExtendsTooDeep(names));
        }
        chain.push(parent);
        child = parent;
    }
    Ok(chain)
}

fn add_steps(steps: &mut Vec<Step>, source: &SchemaSource) {
    for step in &source.steps {
        match steps.iter_mut().find(|inherited| inherited.output == step.output) {
            Some(inherited) => *inherited = step.clone(),
            None => steps.push(step.clone()),
        }
    }
}

impl Schema {
    /// Reads a schema from JSON: an object in the form of a file, with all steps in it.
    pub fn from_json(file: Value) -> Result<Self, InvalidSchema> {
        SchemaSource::from_json(file)?.resolve(|_, _| None)
    }

    fn check(&self) -> Result<(), Defects> {
        let mut defects = Vec::new();
        let count = self.steps.len();
        if count > STEPS_MAX {
            let problem = format!(
                "has {count} steps with those of the schemas that it extends; the limit is \
                 {STEPS_MAX}, so remove some"
            );
            defects.push(Defect::new("steps", problem));
        }
        let texts = self.title.iter().chain(&self.description);
        defects.extend(check::placeholders(placeholder_count(texts, &self.steps)));
        Defects::check(defects)?;
        check::sources(&self.steps)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the title in one line.
    pub fn title(&self) -> Option<&Template> {
        self.title.as_ref()
    }

    /// Returns the purpose.
    pub fn description(&self) -> Option<&Template> {
        self.description.as_ref()
    }

    /// Returns the steps in their order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the step that fills a field of the answer.
    pub fn find_step(&self, output: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.output == output)
    }

    /// Whether a step works on the memory bundle.
    pub fn uses_memory_bundle(&self) -> bool {
        self.steps.iter().any(|step| step.sources.contains(&StepSource::MemoryBundle))
    }
}
