//! Questions to one thing, their answers decoded.

use straddle_stack::{Anomaly, AnomalyKind, Fact};

use super::answer::BadAnswer;
use super::machine::Machine;
use super::question::{Ask, NoAnswer, Of};
use crate::inventory::Thing;

/// What one thing answers to one question, decoded; what is wrong with the answer is remarked.
pub(super) struct Asked<'a> {
    pub(super) machine: Machine<'a>,
    pub(super) of: Of,
}

impl Asked<'_> {
    /// The decoded answer. `None` where there is none; where that is no ordinary refusal, `thing` says so.
    pub(super) fn get<T>(
        &self,
        thing: &mut Thing,
        ask: Ask,
        decode: impl FnOnce(&[u8]) -> Result<T, BadAnswer>,
    ) -> Option<T> {
        let bytes = self.machine.ask(&self.of, ask).ok()?;
        self.decoded(thing, ask, decode(&bytes))
    }

    /// The same, with the reason where there is no answer.
    pub(super) fn try_get<T>(
        &self,
        thing: &mut Thing,
        ask: Ask,
        decode: impl FnOnce(&[u8]) -> Result<T, BadAnswer>,
    ) -> Result<Option<T>, NoAnswer> {
        let bytes = self.machine.ask(&self.of, ask)?;
        Ok(self.decoded(thing, ask, decode(&bytes)))
    }

    fn decoded<T>(&self, thing: &mut Thing, ask: Ask, answer: Result<T, BadAnswer>) -> Option<T> {
        answer
            .map_err(|error| {
                let detail = format!("{} answers what cannot be: {error}", ask.call());
                thing
                    .remarks
                    .push(Anomaly::new(AnomalyKind::Damaged, detail));
            })
            .ok()
    }
}

/// What a call answered.
pub(super) fn said<T>(ask: Ask, value: T, text: impl Into<String>) -> Fact<T> {
    Fact::answered(value, ask.call(), text)
}
