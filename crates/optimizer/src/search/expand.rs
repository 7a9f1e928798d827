//! Children of a prompt of the beam.

use super::features::{self, Feature};
use super::{Candidate, Search};
use crate::edit::Edit;
use crate::prompt::Prompt;
use crate::propose::apply_within;

/// An edit of a prompt, with the features of the prompt that it leads to.
struct Step<'a> {
    edit: &'a Edit,
    features: Vec<Feature>,
}

impl Search<'_> {
    /// Returns new children of a prompt. The first has the edits whose estimated effects are best.
    /// The others have edits whose effects are best in a random draw of possible effects (Thompson
    /// sampling): edits that look good are tried often, and those that were hardly tried sometimes.
    pub(super) fn children_of(
        &mut self,
        member: &Candidate,
        edits: &[Edit],
        count: usize,
    ) -> Vec<Candidate> {
        let steps: Vec<Step<'_>> =
            edits.iter().filter_map(|edit| self.step(member, edit)).collect();
        let mut children = Vec::new();
        for index in 0..count {
            let gains = self.gains(member, &steps, index == 0);
            children.extend(self.child(member, &steps, &gains));
        }
        children
    }

    fn step<'e>(&self, member: &Candidate, edit: &'e Edit) -> Option<Step<'e>> {
        let edited = edit.apply(&member.prompt)?;
        let features = features::between(&self.parent.prompt, &edited);
        Some(Step { edit, features })
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
