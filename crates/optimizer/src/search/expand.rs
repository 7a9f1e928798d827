//! Children of a prompt of the beam.

use super::features::{self, Feature};
use super::{Candidate, Search};
use crate::edit::Edit;
use crate::prompt::Prompt;
use crate::propose::apply_within;

/// Edits that were proposed for a prompt.
pub(super) struct Proposals {
    /// By rules.
    pub by_rules: Vec<Edit>,
    /// By a model.
    pub by_model: Vec<Edit>,
}

/// An edit of a prompt, with the features of the prompt that it leads to.
struct Step<'a> {
    edit: &'a Edit,
    features: Vec<Feature>,
    is_by_model: bool,
}

impl Search<'_> {
    /// Returns new children of a prompt. The first has the edits whose estimated effects are best.
    /// The others have edits whose effects are best in a random draw of possible effects (Thompson
    /// sampling): edits that look good are tried often, and those that were hardly tried sometimes.
    ///
    /// Another child has the edits of the model. They were chosen for failed cases and paid for, so
    /// each call of the model is tried at least once.
    pub(super) fn children_of(
        &mut self,
        member: &Candidate,
        proposals: &Proposals,
        count: usize,
    ) -> Vec<Candidate> {
        let by_rules = proposals.by_rules.iter().map(|edit| (edit, false));
        let edits = by_rules.chain(proposals.by_model.iter().map(|edit| (edit, true)));
        let steps: Vec<Step<'_>> =
            edits.filter_map(|(edit, is_by_model)| self.step(member, edit, is_by_model)).collect();
        let mut children = Vec::new();
        if steps.iter().any(|step| step.is_by_model) {
            let gains: Vec<f64> =
                steps.iter().map(|step| f64::from(u8::from(step.is_by_model))).collect();
            children.extend(self.child(member, &steps, &gains));
        }
        for index in 0..count {
            let gains = self.gains(member, &steps, index == 0);
            children.extend(self.child(member, &steps, &gains));
        }
        children
    }

    fn step<'e>(&self, member: &Candidate, edit: &'e Edit, is_by_model: bool) -> Option<Step<'e>> {
        let edited = edit.apply(&member.prompt)?;
        let features = features::between(&self.parent.prompt, &edited);
        Some(Step { edit, features, is_by_model })
    }

    /// Returns the gain of each step over the prompt: the estimated one, or one that is possible.
    fn gains(&mut self, member: &Candidate, steps: &[Step<'_>], is_estimate: bool) -> Vec<f64> {
        if is_estimate {
            let base = self.effects.sum(&member.features);
            return steps.iter().map(|step| self.effects.sum(&step.features) - base).collect();
        }
        let mut sample = self.effects.sample(&mut self.random);
        let base = sample.sum(&member.features, &mut self.random);
        steps.iter().map(|step| sample.sum(&step.features, &mut self.random) - base).collect()
    }

    /// Applies the best edits with a gain, one by one. Returns none if the result is known.
    fn child(
        &mut self,
        member: &Candidate,
        steps: &[Step<'_>],
        gains: &[f64],
    ) -> Option<Candidate> {
        let mut order: Vec<usize> = (0..steps.len()).filter(|step| gains[*step] > 0.0).collect();
        order.sort_by(|a, b| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b)));
        let mut prompt = member.prompt.clone();
        let mut applied = 0;
        for step in order {
            if applied == self.settings.edits_per_child {
                break;
            }
            if let Some(edited) = apply_within(steps[step].edit, &prompt, &self.settings.limits) {
                prompt = edited;
                applied += 1;
            }
        }
        self.new_candidate(prompt)
    }

    /// Returns the prompt without the changes whose effect is not clearly positive, unless it is
    /// known.
    pub(super) fn simpler(&mut self, member: &Candidate) -> Option<Candidate> {
        let parent = &self.parent.prompt;
        let is_unclear = |feature: &&Feature| !self.effects.is_clear_gain(feature);
        let undone = member.features.iter().filter(is_unclear);
        let prompt = undone.fold(member.prompt.clone(), |prompt, feature| {
            let edit = feature.undo(parent);
            edit.and_then(|edit| edit.apply(&prompt)).unwrap_or(prompt)
        });
        self.settings.limits.check(&prompt).ok()?;
        self.new_candidate(prompt)
    }

    fn new_candidate(&mut self, prompt: Prompt) -> Option<Candidate> {
        let is_new = self.known.insert(prompt.key());
        is_new.then(|| Candidate::new(prompt, &self.parent.prompt))
    }
}
