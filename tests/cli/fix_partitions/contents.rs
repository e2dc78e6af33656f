//! What lies on partitions, made by the real tools, and what of it may change when they move.

use std::fs::{self, File};
use std::path::Path;

use super::ways::On::{
    self, Btrfs, Exfat, Ext4, Fat16, Fat32, Logical, Luks, Lvm, Noise, Ntfs, Swap, Xfs,
};
use super::ways::Table::{Gpt, Mbr};
use super::ways::Way;
use super::{sh, write_at};

/// Bytes that do not repeat, the same each time.
pub(crate) fn noise(len: u64, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(next)
        .take(usize::try_from(len.div_ceil(8)).expect("fits"))
        .flat_map(u64::to_le_bytes)
        .collect();
    bytes.truncate(usize::try_from(len).expect("fits"));
    bytes
}

/// Makes what lies on a partition, in a file of its own.
pub(crate) fn contents(folder: &Path, on: On, start: u64, sectors: u64) -> Vec<u8> {
    let path = folder.join("contents");
    let bytes = sectors * 512;
    File::create(&path)
        .and_then(|file| file.set_len(bytes))
        .expect("writable");
    let make = match on {
        Noise => {
            // No filesystem begins in it.
            let mut bytes = noise(bytes, start);
            bytes.iter_mut().take(65_536).for_each(|byte| *byte = 0);
            return bytes;
        }
        Logical | Lvm => String::new(),
        Ext4 => "mkdir -p tree && echo kept > tree/file && cp /bin/sh tree/sh && mke2fs -q -t ext4 -F -U 6f6d3c5b-9c55-4bd8-b1a2-1c9b1f6f0a01 -d tree contents".to_owned(),
        Xfs => "mkfs.xfs -q -f --unsupported contents".to_owned(),
        Btrfs => "mkfs.btrfs -q -f --mixed contents".to_owned(),
        Fat16 => format!("mkfs.vfat -F 16 -h {start} contents > /dev/null"),
        Fat32 => format!("mkfs.vfat -F 32 -h {start} contents > /dev/null"),
        Exfat => "mkfs.exfat contents > /dev/null".to_owned(),
        Ntfs => format!("mkntfs -q -F -f -p {start} -H 16 -S 63 contents $(( {sectors} )) 2> /dev/null"),
        Swap => "mkswap -q contents".to_owned(),
        Luks => "printf secret | cryptsetup luksFormat -q --type luks1 --pbkdf-force-iterations 1000 contents -".to_owned(),
    };
    sh(folder, &make);
    let mut made = fs::read(&path).expect("made");
    match on {
        // A physical volume as pvcreate writes it, without a device for it: the label in the second sector.
        Lvm => made[512..544].copy_from_slice(b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0 \0\0\0LVM2 001"),
        Exfat => records_start(&mut made, start),
        _ => {}
    }
    made
}

/// Makes an exFAT that Windows would have made in a partition: it records its start.
pub(crate) fn records_start(volume: &mut [u8], start: u64) {
    for region in [0, 12 * 512] {
        volume[region + 64..region + 72].copy_from_slice(&start.to_le_bytes());
        let sum = exfat_checksum(&volume[region..region + 11 * 512]);
        for word in volume[region + 11 * 512..region + 12 * 512].chunks_exact_mut(4) {
            word.copy_from_slice(&sum.to_le_bytes());
        }
    }
}

pub(crate) fn exfat_checksum(sectors: &[u8]) -> u32 {
    let counted = sectors
        .iter()
        .enumerate()
        .filter(|(at, _)| ![106, 107, 112].contains(at));
    counted.fold(0_u32, |sum, (_, byte)| {
        sum.rotate_right(1).wrapping_add(u32::from(*byte))
    })
}

/// The bytes of a partition without those that say where it begins, and what those say.
pub(crate) fn compared(mut bytes: Vec<u8>, on: On) -> (Vec<u8>, Vec<u64>) {
    let word = |bytes: &[u8], at: usize| {
        u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4")))
    };
    let mut said = Vec::new();
    let places: Vec<usize> = match on {
        Fat16 => vec![0],
        Fat32 => vec![0, 6 * 512],
        Ntfs => vec![0, bytes.len() - 512],
        _ => vec![],
    };
    for place in places {
        said.push(word(&bytes, place + 28));
        bytes[place + 28..place + 32].fill(0);
    }
    if on == Exfat {
        for region in [0, 12 * 512] {
            let sum = exfat_checksum(&bytes[region..region + 11 * 512]);
            let kept = word(&bytes, region + 11 * 512);
            assert_eq!(u64::from(sum), kept, "boot checksum");
            assert_eq!(word(&bytes, region + 12 * 512 - 4), kept);
            said.push(word(&bytes, region + 64));
            bytes[region + 64..region + 72].fill(0);
            bytes[region + 11 * 512..region + 12 * 512].fill(0);
        }
    }
    (bytes, said)
}

/// Makes the image of a way.
pub(crate) fn image(folder: &Path, path: &Path, way: &Way) {
    File::create(path)
        .and_then(|file| file.set_len(way.sectors * 512))
        .expect("writable");
    write_at(path, 0, &noise(440, 7));
    let mut script = match way.table {
        Mbr => "label: dos\nlabel-id: 0x5d2c1a90\n".to_owned(),
        Gpt => {
            "label: gpt\nlabel-id: 5D2C1A90-0B1E-4C6A-9F3A-6E0C6B8C1D01\nfirst-lba: 34\n".to_owned()
        }
    };
    for (number, start, sectors, kind, _) in way.partitions {
        script += &format!("{number} : start={start}, size={sectors}, type={kind}");
        if way.table == Gpt {
            script += &format!(
                ", uuid=00000000-0000-4000-8000-00000000000{number}, name=\"it's no. {number}\", attrs=\"GUID:60\""
            );
        }
        script.push('\n');
    }
    fs::write(folder.join("table"), script).expect("writable");
    let disk = format!("'{}'", path.display().to_string().replace('\'', "'\\''"));
    sh(folder, &format!("sfdisk -q --wipe never {disk} < table"));
    for (_, start, sectors, _, on) in way.partitions {
        if *on != Logical {
            write_at(path, start * 512, &contents(folder, *on, *start, *sectors));
        }
    }
}
