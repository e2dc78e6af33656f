//! The keys that are translated, as far as a job gives them.

use std::time::Duration;
use straddle_geometry::Unit;
use straddle_workload::Percent;

use super::keys::{self, Fate};
use super::lines::Entry;
use super::terms::{Engine, MAX_CLONES, Mode, Size};
use super::value::{
    align, block_range, blocks, bytes, durable, engine, mode, per_request, percent, rate, seed,
    set, share_or_size, split, text, time, whole,
};
use crate::compat::{MAX_OUTSTANDING, Refused};

/// What a job asks for, as far as it is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    pub(super) name: Option<String>,
    pub(super) mode: Option<Mode>,
    pub(super) reads: Option<Percent>,
    /// Lengths of reads and of writes.
    pub(super) block: Option<[Unit; 2]>,
    pub(super) align: Option<Unit>,
    pub(super) split: Option<Vec<(Unit, u32)>>,
    pub(super) size: Option<Size>,
    pub(super) file: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) depth: Option<u32>,
    pub(super) clones: Option<u32>,
    pub(super) runs: Option<Duration>,
    pub(super) time_based: bool,
    pub(super) ramp: Option<Duration>,
    pub(super) direct: bool,
    pub(super) engine: Option<Engine>,
    pub(super) rate: Option<u32>,
    pub(super) bytes_per_second: Option<u64>,
    pub(super) think: Option<Duration>,
    pub(super) durable: bool,
    pub(super) seed: Option<u64>,
    pub(super) stonewall: bool,
    /// Keys that change nothing here, each with why: for a remark.
    pub(super) without: Vec<(String, &'static str)>,
}

impl Settings {
    pub(super) fn read(&mut self, entry: &Entry) -> Result<(), Refused> {
        let value = entry.value.as_deref().unwrap_or_default();
        match entry.key.as_str() {
            "name" => self.name = Some(text(entry)?),
            "rw" | "readwrite" => self.mode = Some(mode(entry, value)?),
            "rwmixread" => self.reads = Some(percent(entry, value)?),
            "rwmixwrite" => self.reads = Percent::new(100 - percent(entry, value)?.get()),
            "bs" | "blocksize" => (self.block, self.split) = (Some(blocks(entry, value)?), None),
            "ba" | "blockalign" => self.align = Some(align(entry, value)?),
            "bsrange" | "blocksize_range" => self.split = Some(block_range(entry, value)?),
            "bssplit" => self.split = Some(split(entry, value)?),
            "size" => self.size = Some(share_or_size(entry, value)?),
            // The length of the file; `size` says how much of it is used.
            "filesize" if self.size.is_some() => {
                self.without("filesize", "size says how much is used");
            }
            "filesize" => self.size = Some(Size::Bytes(bytes(entry, value)?)),
            "filename" if value.contains(':') => {
                return Err(entry.refused(
                    "fio takes what stands between colons for several files",
                    "name one file",
                ));
            }
            "filename" => self.file = Some(text(entry)?),
            "directory" if value.contains(':') => {
                return Err(entry.refused(
                    "fio takes what stands between colons for several directories",
                    "name one directory",
                ));
            }
            "directory" => self.directory = Some(text(entry)?),
            "iodepth" => {
                let most = u32::try_from(MAX_OUTSTANDING).unwrap_or(u32::MAX);
                self.depth = Some(whole(entry, value, 1, most)?);
            }
            "numjobs" => self.clones = Some(whole(entry, value, 1, MAX_CLONES)?),
            "runtime" | "timeout" => self.runs = Some(time(entry, value, "s")?),
            "time_based" => self.time_based = set(entry)?,
            "ramp_time" => self.ramp = Some(time(entry, value, "s")?),
            "direct" => self.direct = whole(entry, value, 0, 1)? == 1,
            "buffered" => self.direct = whole(entry, value, 0, 1)? == 0,
            "ioengine" => self.engine = Some(engine(entry, value)?),
            "rate_iops" => self.rate = Some(per_request(entry, value)?),
            "rate" => self.bytes_per_second = Some(rate(entry, value)?),
            "thinktime" => self.think = Some(time(entry, value, "us")?),
            "sync" => self.durable = durable(entry, value)?,
            "randseed" => self.seed = Some(seed(entry, value)?),
            "stonewall" | "wait_for_previous" => self.stonewall = set(entry)?,
            _ => self.others(entry, value)?,
        }
        Ok(())
    }

    /// Keys that are not translated.
    fn others(&mut self, entry: &Entry, value: &str) -> Result<(), Refused> {
        let key = entry.key.as_str();
        match keys::fate(key) {
            Some(Fate::Without(why)) => self.without(key, why),
            Some(Fate::OnlyAs(values, why, instead)) => {
                // Without a value it is set.
                if !values.contains(&entry.value.as_deref().unwrap_or("1")) {
                    return Err(entry.refused(why, instead));
                }
                self.without(&format!("{key}={value}"), "");
            }
            Some(Fate::Refused(why, instead)) => return Err(entry.refused(why, instead)),
            None if keys::is_rare(key) => {
                return Err(entry.refused(
                    "this key of fio's is not done here",
                    "leave it out, if the job means the same without it; docs/compatibility.md lists what is read",
                ));
            }
            None => {
                return Err(match keys::near(key) {
                    Some(near) => entry.refused("fio has no such key", format!("{near}?")),
                    None => entry.refused(
                        "this key is not known",
                        "leave it out, if the job means the same without it; docs/compatibility.md lists what is read",
                    ),
                });
            }
        }
        Ok(())
    }

    fn without(&mut self, key: &str, why: &'static str) {
        if !self.without.iter().any(|(before, _)| before == key) {
            self.without.push((key.to_owned(), why));
        }
    }

    /// The keys in which two jobs differ that an experiment has only once.
    pub(super) fn differs(&self, other: &Settings) -> Vec<&'static str> {
        let keys = [
            ("filename", self.file != other.file),
            ("directory", self.directory != other.directory),
            ("size", self.size != other.size),
            ("direct", self.direct != other.direct),
            ("sync", self.durable != other.durable),
            ("ioengine", self.engine != other.engine),
            ("runtime", self.runs != other.runs),
            ("ramp_time", self.ramp != other.ramp),
            ("randseed", self.seed != other.seed),
        ];
        let differ = keys.into_iter().filter(|(_, differs)| *differs);
        differ.map(|(key, _)| key).collect()
    }
}
