//! What follows from the counts: what requests cost on a grid, wherever they are shifted to.

mod answer;
mod curve;
mod curves;
mod load;
mod packed;
mod question;
mod shapes;
mod step;

pub use answer::{Answer, DeviceAnswer, GridAnswer, WindowAnswer, answer};
pub use curve::{Curve, STEP};
pub use load::Load;
pub use packed::DeviceAnswers;
pub use question::Question;
pub use shapes::{Cost, Shape, Shapes};
