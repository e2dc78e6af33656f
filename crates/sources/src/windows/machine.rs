//! Whom Windows' questions are put to: the machine that this runs on, or one that was captured.

use super::question::{Ask, FOLDER, NoAnswer, Of, REFUSED};
use crate::linux::Root;

/// Longest answer of a captured host.
const MAX_ANSWER: usize = 16 << 20;
/// Most disks, and most volumes.
const MAX_LISTED: usize = 4096;

/// A Windows host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine<'a> {
    root: &'a Root,
}

/// A volume, and where it is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Its GUID path.
    pub(super) path: String,
    /// Letters and folders.
    pub(super) at: Vec<String>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(root: &'a Root) -> Machine<'a> {
        Machine { root }
    }

    /// Whether serial numbers may be read.
    pub(super) fn with_serials(self) -> bool {
        self.root.serials()
    }

    /// What it answers.
    pub(super) fn ask(self, of: &Of, ask: Ask) -> Result<Vec<u8>, NoAnswer> {
        self.kept(&of.path(ask), || live::ask(of, ask, self.with_serials()))
    }

    /// Numbers of its disks.
    pub(super) fn disks(self) -> Result<Vec<u32>, NoAnswer> {
        let text = self.kept(&format!("{FOLDER}/disks"), live::disks)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut disks: Vec<u32> = text
            .lines()
            .filter_map(|line| line.trim().parse().ok())
            .collect();
        disks.sort_unstable();
        disks.dedup();
        disks.truncate(MAX_LISTED);
        Ok(disks)
    }

    /// Its volumes.
    pub(super) fn volumes(self) -> Result<Vec<Mounted>, NoAnswer> {
        let text = self.kept(&format!("{FOLDER}/volumes"), live::volumes)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let volume = |line: &str| {
            let mut parts = line.split('\t').map(str::to_owned);
            let path = parts.next().filter(|path| !path.trim().is_empty())?;
            Some(Mounted {
                path,
                at: parts.collect(),
            })
        };
        Ok(text.lines().filter_map(volume).take(MAX_LISTED).collect())
    }

    /// What is kept there, or what is asked now and then kept.
    fn kept(
        self,
        path: &str,
        ask: impl FnOnce() -> Result<Vec<u8>, NoAnswer>,
    ) -> Result<Vec<u8>, NoAnswer> {
        if self.root.is_live() {
            let answer = ask();
            #[cfg(windows)]
            self.root.keep(path, || match &answer {
                Ok(bytes) => bytes.clone(),
                Err(error) => error.kept(),
            });
            return answer;
        }
        let bytes = self.root.whole(path, MAX_ANSWER);
        let bytes = bytes.ok_or_else(NoAnswer::not_captured)?;
        match bytes.strip_prefix(REFUSED) {
            Some(why) => Err(NoAnswer::read(why)),
            None => Ok(bytes),
        }
    }
}

#[cfg(not(windows))]
mod live {
    use super::super::question::{Ask, NoAnswer, Of};

    fn elsewhere() -> NoAnswer {
        NoAnswer {
            code: None,
            why: "this is not a Windows host".to_owned(),
        }
    }

    pub(super) fn ask(_: &Of, _: Ask, _: bool) -> Result<Vec<u8>, NoAnswer> {
        Err(elsewhere())
    }

    pub(super) fn disks() -> Result<Vec<u8>, NoAnswer> {
        Err(elsewhere())
    }

    pub(super) fn volumes() -> Result<Vec<u8>, NoAnswer> {
        Err(elsewhere())
    }
}

#[cfg(windows)]
mod live {
    use std::fmt::Write;
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use straddle_io::windows::{self, Access};

    use super::super::answer::{
        DeviceNumber, PointerWidth, Pointers, identify_without_serial, without_serial,
    };
    use super::super::question::{Ask, Call, NoAnswer, Of, Property};

    /// Numbers of disks that are tried whether the system lists them or not: a driver may have no interface.
    const TRIED: u32 = 128;

    fn refused(error: &io::Error) -> NoAnswer {
        let text = error.to_string();
        // The standard library writes the number behind it.
        let why = text.split(" (os error").next().unwrap_or(&text);
        NoAnswer {
            code: error.raw_os_error(),
            why: why.trim().to_owned(),
        }
    }

    fn open(of: &Of, ask: Ask) -> io::Result<File> {
        let path = match of {
            Of::Disk(number) => format!(r"\\.\PhysicalDrive{number}"),
            // Questions to the filesystem need its root, which everybody may open; those to the volume the volume itself.
            Of::Volume(path) => match ask {
                Ask::Extents | Ask::Number | Ask::Length => path.trim_end_matches('\\').to_owned(),
                _ => path.clone(),
            },
            Of::File(path) => path.clone(),
        };
        let access = match ask {
            Ask::Length => Access::Reading,
            _ => Access::Questions,
        };
        windows::open(Path::new(&path), access)
    }

    /// What goes in with a code: where a list begins, or which property is wanted.
    fn input(ask: Ask, property: Option<Property>) -> Vec<u8> {
        match (property, ask) {
            (Some(Property::Plain(number)), _) => {
                // STORAGE_PROPERTY_QUERY: the property, PropertyStandardQuery, and no parameters.
                [number.to_le_bytes(), [0; 4], [0; 4]].concat()
            }
            (Some(Property::IdentifyNamespace), _) => {
                // STORAGE_PROPERTY_QUERY with STORAGE_PROTOCOL_SPECIFIC_DATA: NVMe, Identify, of a namespace (CNS 0), the first
                // one, and 4,096 bytes behind these 40.
                let words: [u32; 12] = [50, 0, 3, 1, 0, 1, 40, 4096, 0, 0, 0, 0];
                let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                // The answer comes in the same buffer, which is as long as what is asked for.
                bytes.resize(48 + 4096, 0);
                bytes
            }
            // STARTING_VCN_INPUT_BUFFER: from the first cluster.
            (None, Ask::Pointers) => vec![0; 8],
            (None, _) => Vec::new(),
        }
    }

    pub(super) fn ask(of: &Of, ask: Ask, with_serials: bool) -> Result<Vec<u8>, NoAnswer> {
        let answered = || {
            if let (Call::Read, Of::File(path)) = (ask.how().2, of) {
                return crate::pages::asked(path).map(String::into_bytes);
            }
            let file = open(of, ask)?;
            match ask.how().2 {
                Call::Control {
                    code,
                    property,
                    room,
                } => windows::control(&file, code, &input(ask, property), room),
                Call::Volume { class, room } => windows::volume_information(&file, class, room),
                // Of files only.
                Call::Read => Err(io::ErrorKind::InvalidInput.into()),
                Call::Dependency => {
                    let (mut bytes, address) = windows::host_files(&file)?;
                    let width = match size_of::<usize>() {
                        4 => PointerWidth::Bits32,
                        _ => PointerWidth::Bits64,
                    };
                    let base = u64::try_from(address).unwrap_or(u64::MAX);
                    Pointers { width, base }.rebase(&mut bytes);
                    Ok(bytes)
                }
            }
        };
        let mut bytes = answered().map_err(|error| refused(&error))?;
        match ask {
            Ask::Device if !with_serials => without_serial(&mut bytes),
            Ask::NvmeNamespace if !with_serials => identify_without_serial(&mut bytes),
            _ => {}
        }
        Ok(bytes)
    }

    pub(super) fn disks() -> Result<Vec<u8>, NoAnswer> {
        let mut found: Vec<u32> = Vec::new();
        let number_of = |path: &Path| {
            let file = windows::open(path, Access::Questions).ok()?;
            let Call::Control { code, room, .. } = Ask::Number.how().2 else {
                return None;
            };
            let answer = windows::control(&file, code, &[], room).ok()?;
            DeviceNumber::decode(&answer).ok()?.number
        };
        // Where there is no configuration manager, trying the numbers is all there is.
        for interface in windows::disk_interfaces().unwrap_or_default() {
            found.extend(number_of(Path::new(&interface)));
        }
        for number in 0..TRIED {
            let path = format!(r"\\.\PhysicalDrive{number}");
            if windows::open(Path::new(&path), Access::Questions).is_ok() {
                found.push(number);
            }
        }
        found.sort_unstable();
        found.dedup();
        let mut text = String::new();
        for number in found {
            let _ = writeln!(text, "{number}");
        }
        Ok(text.into_bytes())
    }

    pub(super) fn volumes() -> Result<Vec<u8>, NoAnswer> {
        let mut text = String::new();
        for volume in windows::volumes().map_err(|error| refused(&error))? {
            text.push_str(&volume.to_string_lossy());
            // One that is not mounted has none; one that went meanwhile is not there.
            for path in windows::paths_of_volume(&volume).unwrap_or_default() {
                text.push('\t');
                text.push_str(&path.to_string_lossy());
            }
            text.push('\n');
        }
        Ok(text.into_bytes())
    }
}
