//! Devices whose data may be destroyed: who has to agree, and what speaks against it.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
#[cfg(not(windows))]
use std::path::PathBuf;
use straddle_geometry::Bytes;
use straddle_io::Opening;
use straddle_io::owned::Mark;
#[cfg(windows)]
use straddle_io::windows::Disk as Held;

use super::blank::{Blankness, blankness, marked_places};
use super::label::{LABEL, Label, Owner, State};
use super::{Consent, Guard, Limits, Medium, Target, TargetError, size_of};

/// What a device is to the run that wants to write to it.
#[derive(Clone, Copy, Debug)]
pub enum Purpose<'a> {
    /// Every check is made, and nothing is written: the descriptor cannot write either.
    Rehearsal,
    /// A run that begins: the device is labelled as its own.
    Begin(&'a Owner),
    /// A run that goes on: its label shows that what is on the device was written by it.
    Resume(&'a Owner),
}

/// A device that is held, and labelled as ours.
#[derive(Debug)]
pub(super) struct Claim {
    held: Held,
    label: Label,
}

/// The descriptor of a device that is held, for everything.
#[cfg(not(windows))]
#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
}

#[cfg(not(windows))]
impl Held {
    fn file(&self) -> &File {
        &self.file
    }

    #[expect(clippy::unnecessary_wraps, reason = "Windows has two")]
    fn writer(&self) -> io::Result<impl std::ops::Deref<Target = File>> {
        Ok(&self.file)
    }

    fn reopen(&self, opening: Opening) -> io::Result<File> {
        straddle_io::owned::reopen(&self.file, &self.path, opening)
    }
}

impl Target {
    /// A block device that may be written to. It is opened exclusively, and nobody can mount or hold it until this is
    /// dropped. Its last 4,096 bytes are kept for the label that says whose it is.
    ///
    /// # Errors
    /// [`TargetError`] when the consent is for another device, when anything uses it, or its partitions, or its disk, and
    /// when it is not blank, unless that is agreed to as well or the run that goes on made it so.
    pub fn device(
        path: &Path,
        consent: &Consent,
        direct: bool,
        purpose: Purpose<'_>,
    ) -> Result<Target, TargetError> {
        let name = name_of(path);
        if !straddle_io::is_device(path) {
            return Err(TargetError::NoDevice {
                path: path.to_owned(),
            });
        }
        if consent.name != name {
            return Err(TargetError::OtherConsent {
                path: path.to_owned(),
                consent: consent.clone(),
                name,
            });
        }
        let held = claimed(path, !matches!(purpose, Purpose::Rehearsal))?;
        let os = |source| TargetError::Os {
            doing: "look at",
            path: path.to_owned(),
            source,
        };
        let whole = size_of(held.file()).map_err(os)?;
        let too_small = || TargetError::TooSmall {
            path: path.to_owned(),
            size: whole,
        };
        let size = whole.checked_sub(LABEL).ok_or_else(too_small)?;
        let size = Bytes::new(size.get() & !(LABEL.get() - 1));
        let state = state(path, &held, consent, purpose, size)?;
        let (limits, limits_from) = Limits::of_device(path, held.file(), direct)?;
        let guard = match purpose {
            Purpose::Rehearsal => Guard::ReadOnly(held.file().try_clone().map_err(os)?),
            Purpose::Begin(owner) | Purpose::Resume(owner) => {
                let label = Label::of(owner, size, state);
                write(&held, &label.mark()).map_err(os)?;
                Guard::Device(Claim { held, label })
            }
        };
        Ok(Target {
            path: path.to_owned(),
            size,
            medium: if direct {
                Medium::DeviceDirect
            } else {
                Medium::DeviceBuffered
            },
            limits,
            limits_from,
            guard,
        })
    }
}

/// Decides whether a device may be written to, and what its label will say.
fn state(
    path: &Path,
    held: &Held,
    consent: &Consent,
    purpose: Purpose<'_>,
    size: Bytes,
) -> Result<State, TargetError> {
    let os = |source| TargetError::Os {
        doing: "read",
        path: path.to_owned(),
        source,
    };
    let file = held.file();
    if let Purpose::Resume(owner) = purpose {
        let label = Label::read(file, size).map_err(os)?;
        let ours = label
            .filter(|label| label.token == owner.token && label.sum.as_ref() == Some(&owner.sum));
        let Some(label) = ours else {
            return Err(TargetError::Changed {
                path: path.to_owned(),
                found: "a device without the label of this run".to_owned(),
                expected: format!(
                    "one with the token {} in its last whole {} bytes",
                    owner.token,
                    LABEL.get()
                ),
            });
        };
        if let State::Blank(_) = label.state {
            // All of it is ours, unless somebody has made something of it since.
            let found = carried(path, held)?;
            if found.is_empty() || consent.overwrite_signatures {
                return Ok(label.state);
            }
            return Err(signature(path, found));
        }
    }
    let mut found = carried(path, held)?;
    let blank = match blankness(file, size_of(file).map_err(os)?) {
        Ok(Blankness::Blank(byte)) => Some(byte),
        Ok(Blankness::Data(at)) => {
            if found.is_empty() {
                found.push(format!(
                    "data of an unknown kind (byte {} is neither 0x00 nor 0xff, or not like the others)",
                    at.grouped()
                ));
            }
            None
        }
        Err(error) => {
            found.push(format!(
                "something that cannot be read, and so may be a mark ({error})"
            ));
            None
        }
    };
    match (found.is_empty(), blank) {
        (true, Some(byte)) => Ok(State::Blank(byte)),
        _ if consent.overwrite_signatures => Ok(State::Run),
        _ => Err(signature(path, found)),
    }
}

fn signature(path: &Path, found: Vec<String>) -> TargetError {
    TargetError::Signature {
        path: path.to_owned(),
        found: found.join(", "),
    }
}

/// What is recognised on the device that is held.
#[cfg(not(windows))]
fn carried(path: &Path, held: &Held) -> Result<Vec<String>, TargetError> {
    use straddle_io::OpenError;
    let way = straddle_io::owned::way(&held.file, path);
    super::signatures::signatures(&way).map_err(|error| match error {
        OpenError::Os { source, .. } => TargetError::Os {
            doing: "open",
            path: path.to_owned(),
            source,
        },
        OpenError::WrongType { found, .. } => TargetError::WrongType {
            path: path.to_owned(),
            found: found.to_owned(),
        },
    })
}

/// What is recognised on the disk that is held.
#[cfg(windows)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "it is opened again on other systems"
)]
fn carried(_: &Path, held: &Held) -> Result<Vec<String>, TargetError> {
    Ok(super::signatures::of_disk(held))
}

fn write(held: &Held, mark: &Mark) -> io::Result<()> {
    let writer = held.writer()?;
    let mut file: &File = &writer;
    file.seek(SeekFrom::Start(mark.at))?;
    file.write_all(&mark.bytes)?;
    file.sync_data()
}

impl Claim {
    /// The descriptor by which it is held.
    pub(super) fn file(&self) -> &File {
        self.held.file()
    }

    /// Another descriptor of it.
    pub(super) fn reopen(&self, opening: Opening) -> io::Result<File> {
        self.held.reopen(opening)
    }

    /// True as long as its label is there.
    pub(super) fn is_ours(&self) -> io::Result<bool> {
        self.label.mark().is_in(self.held.file())
    }

    /// Makes a device that was blank before look blank again: the places where formats keep their marks, the label among
    /// them. So the next run finds it as this one did, and nobody has to agree to overwriting what is nothing.
    pub(super) fn release(self) -> io::Result<()> {
        let State::Blank(byte) = self.label.state else {
            return Ok(());
        };
        if !self.is_ours()? {
            return Ok(());
        }
        let size = size_of(self.held.file())?;
        let writer = self.held.writer()?;
        let mut file: &File = &writer;
        for place in marked_places(size) {
            file.seek(SeekFrom::Start(place.start().get()))?;
            let len = usize::try_from(place.len().get()).unwrap_or(0);
            file.write_all(&vec![byte; len])?;
        }
        file.sync_data()
    }
}

/// The last component of a device's path.
#[must_use]
pub fn name_of(path: &Path) -> String {
    #[cfg(windows)]
    if let Some(std::path::Component::Prefix(prefix)) = path.components().next()
        && let std::path::Prefix::DeviceNS(name) | std::path::Prefix::Verbatim(name) = prefix.kind()
    {
        return name.to_string_lossy().into_owned();
    }
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
/// Opens a device that nobody else uses, so that nobody else can until it is closed.
#[cfg(target_os = "linux")]
fn claimed(path: &Path, write: bool) -> Result<Held, TargetError> {
    use straddle_io::linux::{ClaimError, claim_device};
    let opening = Opening {
        write,
        ..Opening::default()
    };
    let path = path.to_owned();
    match claim_device(&path, opening) {
        Ok(file) => Ok(Held { file, path }),
        Err(ClaimError::InUse(by)) => Err(TargetError::InUse { path, by }),
        Err(error) => Err(TargetError::Os {
            doing: "open",
            path,
            source: error.into(),
        }),
    }
}

/// Locks every volume on a disk, and opens it so that nobody else can write to it until it is closed.
#[cfg(windows)]
fn claimed(path: &Path, write: bool) -> Result<Held, TargetError> {
    use straddle_io::windows::ClaimError;
    let path = path.to_owned();
    Held::claim(&path, write).map_err(|error| match error {
        ClaimError::InUse(by) => TargetError::InUse { path, by },
        ClaimError::Os(source) => TargetError::Os {
            doing: "open",
            path,
            source,
        },
    })
}

#[cfg(not(any(target_os = "linux", windows)))]
fn claimed(path: &Path, _: bool) -> Result<Held, TargetError> {
    Err(TargetError::DeviceElsewhere {
        path: path.to_owned(),
    })
}
