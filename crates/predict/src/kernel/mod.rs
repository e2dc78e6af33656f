//! What every model needs: integer time, the next event of each station, servers with a queue.

mod calendar;
mod places;
mod servers;
mod time;

pub(crate) use calendar::Calendar;
pub(crate) use places::Places;
pub(crate) use servers::Servers;
pub use time::Time;
