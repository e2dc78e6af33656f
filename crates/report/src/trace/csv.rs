//! Traces as CSV: a line for each device, grid, start and direction.

use std::io::Write;

use straddle_geometry::{Access, Bytes};
use straddle_trace::{DeviceAnswer, Load};

use super::result::{Section, Trace};
use crate::cells::Cells;

/// The columns, in order. New ones are only ever added at the end.
const COLUMNS: [&str; 14] = [
    "place",
    "device",
    "step",
    "grid",
    "unit_bytes",
    "phase_bytes",
    "start",
    "start_bytes",
    "direction",
    "requests",
    "straddling",
    "units_touched",
    "units_in_part",
    "operations",
];

/// Writes the table.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, out: impl Write) -> csv::Result<()> {
    let mut writer = Cells::new(out);
    writer.record(COLUMNS)?;
    for section in &trace.sections {
        of_device(section, &section.answer.all, &mut writer)?;
        if section.answer.devices.len() > 1 {
            for device in section.answer.devices.iter() {
                of_device(section, &device, &mut writer)?;
            }
        }
    }
    Ok(())
}

fn of_device(
    section: &Section,
    device: &DeviceAnswer,
    writer: &mut Cells<impl Write>,
) -> csv::Result<()> {
    let (name, step) = device
        .device
        .as_ref()
        .map_or(("", ""), |device| (&*device.name, device.event.name()));
    for (boundary, grid) in section.boundaries.iter().zip(&device.grids) {
        let mut row = |start: &str, at: Bytes, loads: &[Load; 2]| {
            for (access, load) in [Access::Read, Access::Write].into_iter().zip(loads) {
                writer.record([
                    section.title.clone().unwrap_or_default(),
                    name.to_owned(),
                    step.to_owned(),
                    boundary.role.map_or("", |role| role.name()).to_owned(),
                    grid.grid.unit().get().to_string(),
                    grid.grid.phase().get().to_string(),
                    start.to_owned(),
                    at.get().to_string(),
                    super::document::direction(access).to_owned(),
                    load.requests.to_string(),
                    load.straddling.to_string(),
                    load.granules.to_string(),
                    load.partial.to_string(),
                    load.operations(grid.family, access).to_string(),
                ])?;
            }
            Ok::<(), csv::Error>(())
        };
        row("today", section.question.today, &grid.today)?;
        for (start, loads) in section.question.starts.iter().zip(&grid.starts) {
            row("asked", *start, loads)?;
        }
        if let (Some(best), Some(at)) = (&grid.best, device.best.or(section.answer.all.best)) {
            row("best", Bytes::new(at), best)?;
        }
    }
    Ok(())
}
