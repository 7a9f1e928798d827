//! Ranking by a cross-encoder. The service ships no such model, so that whoever switches it on is
//! told, instead of getting a ranking without it.

use std::collections::BTreeMap;

use mc_contract::operations::rag::RagModule;

use crate::Error;

/// Checks that the switches do not ask for a cross-encoder.
pub(crate) fn check_off(modules: &BTreeMap<RagModule, bool>) -> Result<(), Error> {
    let is_on = modules.get(&RagModule::CrossEncoder) == Some(&true);
    if is_on { Err(Error::NoCrossEncoder) } else { Ok(()) }
}
