//! What rules about metadata records smaller than a physical sector share.

use straddle_geometry::Bytes;
use straddle_stack::{Fact, GridRole, Layer, LayerId, SeenGrid, Trust};

use crate::wording::Correlation;
use crate::{Code, Context, Finding, Severity};

/// The physical sector below `id` that is larger than `size`, if there is one.
pub(crate) fn larger_sector<'a>(
    context: &'a Context<'a>,
    id: LayerId,
    size: Bytes,
) -> Option<&'a SeenGrid<'a>> {
    context
        .below(id, GridRole::PhysicalSector)
        .find(|grid| grid.fact.value.unit().bytes() > size)
}

/// The finding that records of one `size` are smaller than the sector below; a note where the sector is only assumed.
pub(crate) fn finding(
    code: Code,
    severity: Severity,
    (id, layer): (LayerId, &Layer),
    what: &str,
    size: &Fact<Bytes>,
    sector: &SeenGrid<'_>,
) -> Option<Finding> {
    let unit = straddle_geometry::Unit::try_from(size.value).ok()?;
    let physical = sector.fact.value.unit();
    let title = format!(
        "{}: {what} of {} are smaller than the physical sector of {physical}",
        layer.name, size.value
    );
    let finding = Finding::new(code, severity, id, title)
        .evidence(&size.source, format!("{what}: {}", size.value))
        .evidence(&sector.fact.source, format!("physical sector = {physical}"))
        .arithmetic(Correlation::new("sector ÷ record", physical.bytes(), unit).arithmetic());
    Some(if sector.fact.trust == Trust::Assumed {
        finding.at_most(
            Severity::Note,
            "the physical sector is assumed; give --physical-sector for the device it will be on",
        )
    } else {
        finding
    })
}
