//! Logical Disk Manager: the dynamic disks of Windows 2000 and later, and the volumes of their group.
//!
//! ```text
//! disk with an MBR: entries of type 42; sector 6 PRIVHEAD; the database is the last MiB
//! disk with a GPT:  a partition of 1 MiB for the database, PRIVHEAD in its last sector; another for the data
//! ```
//!
//! The private header names the disk and its group, and says where the data area and the database lie. The database is the
//! same on all disks of a group: volumes of components, components of partitions, partitions on disks. A volume of one
//! component is simple (one partition), spanned (several), striped or RAID 5; of several, a mirror. Parity goes round as
//! `left-symmetric`. A partition's start counts from the data area of its disk, which only that disk's header knows.
//!
//! Source: LDM documentation of the Linux-NTFS project; Linux `Documentation/admin-guide/ldm.rst`; the description at the
//! head of libldm for GPT and revisions. Numbers are high byte first. The header's checksum is not published, so it is not
//! verified; copies are compared instead.

mod assemble;
mod database;
mod head;
mod record;
mod volume;

use straddle_io::ReadError;

use super::{Beside, Recognised, VolumeFormat};
use crate::{Magic, Window};
use assemble::assemble;
use database::Catalogue;
use head::Head;

pub(crate) static FORMAT: VolumeFormat = VolumeFormat {
    name: "ldm",
    title: "LDM dynamic disk",
    reads: "dynamic disks of MBR and GPT: the private header, the database, volumes (simple, spanned, striped, mirrored, RAID-5) over several disks",
    refuses: "",
    verified: "ldmtool, Linux",
    min_size: 1 << 20,
    // Of the boot record that every dynamic disk has; the rest takes more than one look.
    magics: &[Magic {
        offset: 510,
        bytes: &[0x55, 0xaa],
    }],
    beside: Beside::Table {
        stand_ins: &[
            "42",
            "5808C8AA-7E8F-42E0-85D2-E1E90434CFB3",
            "AF9B60A0-1431-4F62-BC68-3311714A69AD",
        ],
    },
    recognise,
    assemble,
};

fn recognise(window: &Window<'_>) -> Result<Option<Recognised>, ReadError> {
    let Some(mut head) = Head::find(window)? else {
        return Ok(None);
    };
    let catalogue = Catalogue::read(window, &head)?;
    let mut detected = head.say(window).finish();
    detected.anomalies.append(&mut head.anomalies);
    let of = match catalogue {
        Ok(mut catalogue) => {
            detected.anomalies.append(&mut catalogue.anomalies);
            Some(catalogue.disks())
        }
        Err(anomaly) => {
            detected.anomalies.push(anomaly);
            None
        }
    };
    Ok(Some(Recognised {
        detected,
        set: head.group(),
        member: head.disk(),
        of,
    }))
}

#[cfg(test)]
mod tests;
