//! `DM_TABLE_STATUS`: the table of a device-mapper device, as text.
//!
//! ```text
//! struct dm_ioctl, 312 bytes                  struct dm_target_spec, 40 bytes
//!   0  u32 version[3]                          0  u64 first sector (512 bytes each)
//!  12  u32 size of the whole buffer            8  u64 number of sectors
//!  16  u32 where the targets start            16  i32 status
//!  20  u32 number of targets                  20  u32 next target, from where the targets start
//!  28  u32 flags                              24  char type[16]
//!  40  u64 device number                      40  parameters, ended by a NUL
//!  48  char name[128], uuid[129], padding
//! ```
//! Source: Linux `include/uapi/linux/dm-ioctl.h`.

use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};
use std::ffi::c_void;
use std::fmt::Write;
use std::fs::File;
use std::io;

const HEADER: usize = 312;
const SPEC: usize = 40;
/// First and largest buffer. A table of a thousand LVM segments is about 70 KB.
const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];
/// Give the table instead of the status.
const STATUS_TABLE: u32 = 1 << 4;
/// The answer did not fit.
const BUFFER_FULL: u32 = 1 << 8;
/// The kernel wipes its own copies: a dm-crypt table holds the key.
const SECURE_DATA: u32 = 1 << 15;

struct TableStatus<'a>(&'a mut [u8]);

// SAFETY: the opcode is that of DM_TABLE_STATUS, whose argument is a `struct dm_ioctl` that says at byte 12 how large
// the whole buffer is; `ask` writes the slice's own length there. The kernel writes into it, so the call is mutating;
// the kernel's result is not used.
#[allow(unsafe_code)]
unsafe impl Ioctl for TableStatus<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        opcode::read_write::<[u8; HEADER]>(0xfd, 12)
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// The table of the device `major:minor`, a line `START LENGTH TARGET PARAMETERS` for each target, in sectors of 512
/// bytes, as `dmsetup table` prints it. Parameters pass `redact` first: they may hold keys, and those leave this
/// function no other way.
///
/// # Errors
/// Those of opening `/dev/mapper/control` (it needs root) and of the call.
pub fn device_mapper_table(
    device: (u32, u32),
    redact: impl Fn(&str, &str) -> String,
) -> io::Result<String> {
    let control = File::open("/dev/mapper/control")?;
    for size in SIZES {
        let mut buffer = vec![0; size];
        ask(&control, device, &mut buffer)?;
        let text = parse(&buffer, &redact);
        buffer.fill(0);
        std::hint::black_box(&buffer);
        if let Some(text) = text {
            return Ok(text);
        }
    }
    Err(io::Error::other("the table is larger than 4 MiB"))
}

fn ask(control: &File, (major, minor): (u32, u32), buffer: &mut [u8]) -> io::Result<()> {
    let size = u32::try_from(buffer.len()).map_err(io::Error::other)?;
    // The kernel's own encoding of a device number: 12 bits of major between the two parts of the minor.
    let device = u64::from(minor & 0xff) | u64::from(major) << 8 | u64::from(minor & !0xff) << 12;
    let mut put = |at: usize, bytes: &[u8]| {
        if let Some(place) = buffer.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    };
    put(0, &4_u32.to_ne_bytes());
    put(12, &size.to_ne_bytes());
    put(16, &u32::try_from(HEADER).unwrap_or(0).to_ne_bytes());
    put(28, &(STATUS_TABLE | SECURE_DATA).to_ne_bytes());
    put(40, &device.to_ne_bytes());
    // SAFETY: see the implementation of `Ioctl` above: the buffer begins with a dm_ioctl that says its true size, and
    // the file descriptor is borrowed from an open file for the length of the call.
    #[allow(unsafe_code)]
    unsafe {
        rustix::ioctl::ioctl(control, TableStatus(buffer))?;
    }
    Ok(())
}

/// The text of an answer; `None` when the buffer was too small.
fn parse(buffer: &[u8], redact: impl Fn(&str, &str) -> String) -> Option<String> {
    let u32_at = |at: usize| -> Option<u32> {
        let bytes = buffer.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let u64_at = |at: usize| -> Option<u64> {
        let bytes = buffer.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    if u32_at(28)? & BUFFER_FULL != 0 {
        return None;
    }
    let targets = usize::try_from(u32_at(16)?).ok()?;
    let mut out = String::new();
    let mut at = targets;
    for _ in 0..u32_at(20)? {
        let (Some(start), Some(length), Some(next)) = (u64_at(at), u64_at(at + 8), u32_at(at + 20))
        else {
            break;
        };
        let name = until_nul(buffer.get(at + 24..at + SPEC).unwrap_or(&[]));
        let parameters = until_nul(buffer.get(at + SPEC..).unwrap_or(&[]));
        let parameters = redact(&name, &parameters);
        let _ = writeln!(out, "{start} {length} {name} {parameters}");
        at = targets.checked_add(usize::try_from(next).ok()?)?;
    }
    Some(out)
}

fn until_nul(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(targets: &[(u64, u64, &str, &str)], flags: u32) -> Vec<u8> {
        let mut out = vec![0; HEADER];
        out[16..20].copy_from_slice(&(HEADER as u32).to_ne_bytes());
        out[20..24].copy_from_slice(&(targets.len() as u32).to_ne_bytes());
        out[28..32].copy_from_slice(&flags.to_ne_bytes());
        for (start, length, name, parameters) in targets {
            let at = out.len();
            let padded = (SPEC + parameters.len() + 1).next_multiple_of(8);
            let mut spec = vec![0; padded];
            spec[..8].copy_from_slice(&start.to_ne_bytes());
            spec[8..16].copy_from_slice(&length.to_ne_bytes());
            let next = (at + padded - HEADER) as u32;
            spec[20..24].copy_from_slice(&next.to_ne_bytes());
            spec[24..24 + name.len()].copy_from_slice(name.as_bytes());
            spec[SPEC..SPEC + parameters.len()].copy_from_slice(parameters.as_bytes());
            out.extend(spec);
        }
        out
    }

    #[test]
    fn an_answer_reads_as_dmsetup_prints_it() {
        let bytes = answer(
            &[
                (0, 2048, "linear", "8:0 2048"),
                (2048, 8, "crypt", "aes 0123 0 8:0 32768"),
            ],
            0,
        );
        let redact = |name: &str, parameters: &str| {
            if name == "crypt" {
                parameters.replace("0123", "-")
            } else {
                parameters.to_owned()
            }
        };
        assert_eq!(
            parse(&bytes, redact).as_deref(),
            Some("0 2048 linear 8:0 2048\n2048 8 crypt aes - 0 8:0 32768\n")
        );
        assert_eq!(parse(&answer(&[], BUFFER_FULL), redact), None);
        assert_eq!(
            parse(&bytes[..HEADER + 50], redact).as_deref(),
            Some("0 2048 linear 8:0 2048\n")
        );
        assert_eq!(parse(&[0; 8], redact), None);
    }

    #[test]
    fn the_opcode_is_the_kernels() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(opcode::read_write::<[u8; HEADER]>(0xfd, 12), 0xc138_fd0c);
    }
}
