//! Rules between the steps of a schema.

use std::collections::{HashMap, HashSet};

use crate::error::{Defect, Defects};
use crate::limits::PLACEHOLDERS_MAX;
use crate::source::{MEMORY_BUNDLE, Step, StepSource};
use crate::suggestion::suggest;

/// Finds outputs that two steps of a file fill, and the reserved name.
pub(crate) fn outputs(steps: &[Step]) -> Vec<Defect> {
    let mut first = HashMap::new();
    let mut defects = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let output = &step.output;
        let path = || format!("steps[{index}].output");
        if output == MEMORY_BUNDLE {
            let problem = format!("`{MEMORY_BUNDLE}` is the name of a source; use another name");
            defects.push(Defect::new(path(), problem));
        }
        if let Some(before) = first.insert(output, index) {
            let problem = format!("`{output}` is the output of steps[{before}] too; rename one");
            defects.push(Defect::new(path(), problem));
        }
    }
    defects
}

/// Checks the number of placeholders of a schema.
pub(crate) fn placeholders(count: usize) -> Option<Defect> {
    (count > PLACEHOLDERS_MAX).then(|| {
        let problem = format!(
            "the schema has {count} placeholders; the limit is {PLACEHOLDERS_MAX}, so write \
             \"the task\" or \"the path\" instead of some"
        );
        Defect::new("steps", problem)
    })
}

/// Checks that the sources of each step are outputs of earlier steps.
pub(crate) fn sources(steps: &[Step]) -> Result<(), Defects> {
    let known: HashMap<&str, usize> =
        steps.iter().enumerate().map(|(index, step)| (step.output.as_str(), index)).collect();
    let mut defects = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        for source in outputs_of(step) {
            let problem = match known.get(source) {
                None => unknown(source, &step.output, &steps[..index]),
                Some(at) if *at < index => continue,
                Some(_) => cycle(steps, &known, index, source)
                    .unwrap_or_else(|| later(source, &step.output)),
            };
            defects.push(Defect::new(format!("steps[{index}].source"), problem));
        }
    }
    Defects::check(defects)
}

fn outputs_of(step: &Step) -> impl Iterator<Item = &str> {
    step.sources.iter().filter_map(|source| match source {
        StepSource::Output(output) => Some(output.as_str()),
        StepSource::MemoryBundle => None,
    })
}

fn unknown(source: &str, output: &str, earlier: &[Step]) -> String {
    let known = earlier.iter().map(|step| step.output.as_str());
    let way_out = suggest(source, known.chain([MEMORY_BUNDLE]));
    format!(
        "`{source}`, the source of `{output}`, is neither `{MEMORY_BUNDLE}` nor the output of an \
         earlier step; {way_out}"
    )
}

fn later(source: &str, output: &str) -> String {
    format!(
        "`{source}`, the source of `{output}`, is the output of a later step; move that step \
         before this one"
    )
}

/// Describes the cycle through a step and its source, if there is one.
fn cycle(
    steps: &[Step],
    known: &HashMap<&str, usize>,
    step: usize,
    source: &str,
) -> Option<String> {
    let mut path = vec![source];
    let mut seen = HashSet::from([source]);
    if !leads_to(&steps[step].output, steps, known, &mut path, &mut seen) {
        return None;
    }
    path.insert(0, &steps[step].output);
    let path = path.join(" -> ");
    Some(format!("the sources form a cycle ({path}); remove one of them"))
}

/// Extends a path along sources until it ends with `target`. A step is visited once.
fn leads_to<'a>(
    target: &str,
    steps: &'a [Step],
    known: &HashMap<&str, usize>,
    path: &mut Vec<&'a str>,
    seen: &mut HashSet<&'a str>,
) -> bool {
    let Some(last) = path.last().copied() else { return false };
    if last == target {
        return true;
    }
    let Some(step) = known.get(last).map(|index| &steps[*index]) else { return false };
    outputs_of(step).any(|next| {
        let is_new = seen.insert(next);
        if !is_new {
            return false;
        }
        path.push(next);
        let is_found = leads_to(target, steps, known, path, seen);
        if !is_found {
            path.pop();
        }
        is_found
    })
}
