use thiserror::Error;

/// Why there is no script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The plan has no step that the tool carries out.
    #[error("no step of this plan is done by {tool}: {}", others(.with))]
    NothingToDo {
        /// The tool that was asked for.
        tool: &'static str,
        /// Those that do have steps.
        with: Vec<&'static str>,
    },
    /// The tool runs on another system than the one that the stack is of.
    #[error("{tool} does not run on {system}, where this was captured{}", instead(.with))]
    Elsewhere {
        /// The tool that was asked for.
        tool: &'static str,
        /// What the capture says it is of.
        system: String,
        /// Those that run there and have steps, whether a script for them can be written or not.
        with: Vec<&'static str>,
    },
    /// A step cannot be left to a script.
    #[error("step {number} cannot be left to a script: {why}")]
    Hindered {
        /// The step.
        number: usize,
        /// Why not.
        why: String,
    },
    /// What lies below is to be changed first.
    #[error(
        "step {earlier} comes before step {number} and changes what it lies on: do that first, then ask for this script again"
    )]
    Earlier {
        /// The step.
        number: usize,
        /// The one that comes first.
        earlier: usize,
    },
    /// A name that no script should contain.
    #[error("{name:?} has a {what} in it, which is not safe in a script; give it another name")]
    UnsafeName {
        /// The name.
        name: String,
        /// What is in it.
        what: &'static str,
    },
    /// Something that the script needs is not known.
    #[error("{0}")]
    Unknown(String),
}

fn instead(tools: &[&str]) -> String {
    match tools {
        [] => ", and no tool that does has a step of this plan".to_owned(),
        tools => format!("; ask for {}", tools.join(" or ")),
    }
}

fn others(tools: &[&str]) -> String {
    match tools {
        [] => "there is nothing in it that a script could do".to_owned(),
        tools => format!("there are scripts for {}", tools.join(", ")),
    }
}
