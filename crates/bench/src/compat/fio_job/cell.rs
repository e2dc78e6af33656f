//! A job as a cell, and what all jobs of a file have in common.

use straddle_geometry::Unit;
use straddle_io::engine::Durability;
use straddle_workload::{Pattern, Percent, Workload};

use super::lines::Section;
use super::settings::Settings;
use super::terms::{Engine, Mode};
use super::{Cell, Job};
use crate::compat::Refused;

impl Settings {
    /// What changes nothing here, in one line for each reason.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
        for (key, why) in &self.without {
            match lines.iter_mut().find(|(before, _)| before == why) {
                Some((_, keys)) => keys.push(key),
                None => lines.push((why, vec![key])),
            }
        }
        let line = |(why, keys): (&str, Vec<&str>)| match why {
            "" => format!("{}: nothing else is done here", keys.join(", ")),
            why => format!("{}: {why}", keys.join(", ")),
        };
        // A description is not said to be without effect.
        let lines = lines.into_iter();
        lines
            .filter(|(_, keys)| keys.as_slice() != ["description"])
            .map(line)
            .collect()
    }

    pub(super) fn cell(
        &self,
        section: &Section,
        remarks: &mut Vec<String>,
    ) -> Result<Cell, Refused> {
        let name = self.name.clone().unwrap_or_else(|| section.name.clone());
        let refused = |what: &str, why: &str, instead: &str| {
            Refused::new(
                format!("{}: [{}]: {what}", section.at, section.name),
                why,
                instead,
            )
        };
        let mode = self.mode.unwrap_or(Mode {
            pattern: Pattern::Sequential,
            gap: None,
            reads: Percent::ALL,
            mixed: false,
        });
        let reads = match (mode.mixed, self.reads) {
            (true, Some(reads)) => reads,
            _ => mode.reads,
        };
        let clones = self.clones.unwrap_or(1);
        if mode.pattern == Pattern::Sequential && clones > 1 {
            return Err(refused(
                &format!("numjobs={clones} and a sequential rw"),
                "fio's clones all go through the same place; workers here have a part each",
                "give numjobs=1 and a larger iodepth, or a random rw",
            ));
        }
        if clones > 1 && self.file.is_none() {
            return Err(refused(
                &format!("numjobs={clones} without filename"),
                "fio gives each clone a file of its own; an experiment has one",
                "give filename",
            ));
        }
        let engine = self.engine.unwrap_or(Engine::Psync);
        let mut depth = self.depth.unwrap_or(1);
        if engine.blocks() && depth > 1 {
            remarks.push(format!(
                "[{name}]: iodepth={depth} has no effect on psync, in fio as here: 1 request of each job is under way"
            ));
            depth = 1;
        }
        if self.think.is_some_and(|think| !think.is_zero()) && depth > 1 {
            return Err(refused(
                "thinktime with an iodepth above 1",
                "fio then stops all requests of a job; here, each slot pauses by itself",
                "give iodepth=1 and more jobs",
            ));
        }
        let sizes = match &self.split {
            Some(split) => split.clone(),
            None => {
                let [of_reads, of_writes] = self.block.unwrap_or([Unit::B4096; 2]);
                let block = match reads {
                    Percent::ALL => of_reads,
                    Percent::NONE => of_writes,
                    _ if of_reads == of_writes => of_reads,
                    _ => {
                        return Err(refused(
                            &format!("bs={},{} and a mix", of_reads.get(), of_writes.get()),
                            "reads and writes of different lengths are not mixed",
                            "give one length, or a job for each",
                        ));
                    }
                };
                vec![(block, 1)]
            }
        };
        let pattern = self
            .pattern(mode, &sizes)
            .map_err(|(what, why, instead)| refused(&what, &why, &instead))?;
        let rate = self
            .offered(&sizes, &name, remarks)
            .map_err(|(why, instead)| refused("rate", &why, &instead))?;
        if rate.is_some() {
            remarks.push(format!(
                "[{name}]: latency counts from when a request was due, not from when it could be started"
            ));
        }
        Ok(Cell {
            workload: Workload {
                reads,
                pattern,
                sizes,
                workers: clones,
                outstanding: depth,
                think: self.think.unwrap_or_default(),
                rate: rate.map(|rate| rate * f64::from(clones)),
            },
            name,
        })
    }

    /// The order of requests; what is wrong, why and what to write otherwise.
    fn pattern(
        &self,
        mode: Mode,
        sizes: &[(Unit, u32)],
    ) -> Result<Pattern, (String, String, String)> {
        let wrong = |what: String, why: &str, instead: &str| {
            Err((what, why.to_owned(), instead.to_owned()))
        };
        match (mode.gap, sizes, self.align) {
            // A lattice of the requests' own length is what is there without one.
            (None, [(size, _)], Some(align)) if align == *size => Ok(mode.pattern),
            (None, _, Some(align)) if mode.pattern == Pattern::Random => {
                Ok(Pattern::RandomEvery(align))
            }
            (_, _, Some(align)) => wrong(
                format!("blockalign={} and a sequential rw", align.get()),
                "fio rounds the places of random requests only",
                "leave it out, or give a random rw",
            ),
            (None, _, None) => Ok(mode.pattern),
            (Some(gap), [(size, _)], None) => {
                let stride = size.get().checked_add(gap.get()).and_then(Unit::new);
                match stride {
                    Some(stride) => Ok(Pattern::Strided(stride)),
                    None => wrong(
                        format!("rw with a gap of {gap}"),
                        "it reaches past the largest address",
                        "give a smaller one",
                    ),
                }
            }
            (Some(_), _, None) => wrong(
                "rw with a gap and several sizes".to_owned(),
                "the gap then begins at the end of each request; here, requests begin at a fixed distance",
                "give one bs",
            ),
        }
    }

    /// Requests that each clone is offered each second; why not, and what to write, otherwise.
    #[expect(
        clippy::cast_precision_loss,
        reason = "rates of storage stay far below 2⁵³ bytes each second"
    )]
    fn offered(
        &self,
        sizes: &[(Unit, u32)],
        name: &str,
        remarks: &mut Vec<String>,
    ) -> Result<Option<f64>, (String, String)> {
        match (self.rate, self.bytes_per_second, sizes) {
            (Some(_), Some(_), _) => Err((
                "rate and rate_iops are both given".to_owned(),
                "leave one of them out".to_owned(),
            )),
            (rate, None, _) => Ok(rate.map(f64::from)),
            (None, Some(bytes), [(size, _)]) => {
                let rate = bytes as f64 / size.get() as f64;
                remarks.push(format!(
                    "[{name}]: rate={bytes} with requests of {} bytes: {rate} requests are due each second",
                    size.get()
                ));
                Ok(Some(rate))
            }
            (None, Some(_), _) => Err((
                "with several sizes, bytes each second are no number of requests".to_owned(),
                "give rate_iops".to_owned(),
            )),
        }
    }

    /// What all jobs have in common, once nothing is in the way.
    pub(super) fn job(&self, cells: Vec<Cell>, mut remarks: Vec<String>) -> Job {
        let runs = self.runs.filter(|runs| !runs.is_zero());
        match (runs, self.time_based) {
            (None, _) => remarks.push(
                "without runtime fio ends when `size` bytes are done; here each run is measured for --runtime"
                    .to_owned(),
            ),
            (Some(_), false) => remarks.push(
                "without time_based fio ends early when `size` bytes are done; here all of runtime is measured"
                    .to_owned(),
            ),
            (Some(_), true) => {}
        }
        match self.engine {
            Some(Engine::LibAio) => {
                remarks.push("ioengine=libaio: io_uring makes the same requests".to_owned());
            }
            Some(Engine::Vectored) => {
                remarks.push("ioengine: psync makes the same requests".to_owned());
            }
            _ => {}
        }
        let file = match (&self.directory, &self.file) {
            (Some(directory), Some(file)) => {
                Some(format!("{}/{file}", directory.trim_end_matches('/')))
            }
            (_, file) => file.clone(),
        };
        Job {
            cells,
            directory: self.directory.clone().filter(|_| file.is_none()),
            file,
            size: self.size,
            direct: self.direct,
            durability: if self.durable {
                Durability::WriteThrough
            } else {
                Durability::Cached
            },
            engine: self.engine.map(|engine| match engine {
                Engine::IoUring | Engine::LibAio => "io_uring",
                Engine::Psync | Engine::Vectored => "pread",
                Engine::Windows => "overlapped",
                Engine::Null => "null",
            }),
            runs,
            warm_up: self.ramp.unwrap_or_default(),
            seed: self.seed,
            remarks,
        }
    }
}
