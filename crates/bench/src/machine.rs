//! The machine that measures, as far as it belongs beside the figures.

use std::path::Path;
use straddle_geometry::Bytes;

use crate::results::Machine;
use crate::validity::Kernel;

impl Machine {
    /// This one.
    #[must_use]
    pub fn this() -> Machine {
        Machine::read(Path::new("/"))
    }

    /// The one whose files lie below `root`: `/proc/sys/kernel/hostname` and `osrelease`, `/etc/os-release`, `/proc/cpuinfo`
    /// and `/proc/meminfo`. What these do not say comes from the standard library and the environment, or stays empty.
    #[must_use]
    pub fn read(root: &Path) -> Machine {
        let kernel = Kernel::at(root);
        Machine {
            host: kernel
                .text("/proc/sys/kernel/hostname")
                .or_else(|| std::env::var("COMPUTERNAME").ok())
                .or_else(|| std::env::var("HOSTNAME").ok())
                .unwrap_or_default(),
            system: system(&kernel),
            processors: processors(&kernel),
            memory: crate::validity::main_memory(&kernel),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// `Linux 6.18.5 (Debian GNU/Linux 13 (trixie))`.
fn system(kernel: &Kernel) -> String {
    let release = kernel.text("/proc/sys/kernel/osrelease");
    let distribution = kernel
        .text("/etc/os-release")
        .or_else(|| kernel.text("/usr/lib/os-release"))
        .and_then(|text| {
            let mut lines = text.lines();
            let name = lines.find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
            Some(name.trim_matches(['"', '\'']).to_owned())
        });
    match (release, distribution) {
        (Some(release), Some(distribution)) => format!("Linux {release} ({distribution})"),
        (Some(release), None) => format!("Linux {release}"),
        (None, _) => format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    }
}

/// `2 × AMD EPYC 7571`. Processors of other architectures have no name there, but a number of their maker.
fn processors(kernel: &Kernel) -> String {
    let text = kernel.text("/proc/cpuinfo").unwrap_or_default();
    let field = |wanted: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == wanted && !value.trim().is_empty()).then(|| value.trim().to_owned())
        })
    };
    let listed = text
        .lines()
        .filter(|line| {
            line.split_once(':')
                .is_some_and(|(name, _)| name.trim() == "processor")
        })
        .count();
    let count = match listed {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let model = field("model name")
        .or_else(|| field("cpu model"))
        .or_else(|| {
            let maker = field("CPU implementer")?;
            Some(format!("implementer {maker} part {}", field("CPU part")?))
        });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    // Names are padded and have runs of spaces.
    let model: Vec<&str> = model.split_ascii_whitespace().collect();
    format!(
        "{} × {}",
        Bytes::new(count as u64).grouped(),
        model.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validity::put;

    #[test]
    fn a_linux_machine_says_what_it_is() {
        let root = tempfile::tempdir().expect("temporary directory");
        let root = root.path();
        put(root, "/proc/sys/kernel/hostname", "db1\n");
        put(root, "/proc/sys/kernel/osrelease", "6.12.41-amd64\n");
        put(
            root,
            "/etc/os-release",
            "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n",
        );
        put(
            root,
            "/proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU   E5-2680 v4 @ 2.40GHz\n\nprocessor\t: 1\nmodel name\t: Intel\n",
        );
        put(root, "/proc/meminfo", "MemTotal:        8167048 kB\n");
        let machine = Machine::read(root);
        assert_eq!(machine.host, "db1");
        assert_eq!(
            machine.system,
            "Linux 6.12.41-amd64 (Debian GNU/Linux 13 (trixie))"
        );
        assert_eq!(
            machine.processors,
            "2 × Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"
        );
        assert_eq!(machine.memory, Some(Bytes::kib(8_167_048)));
        assert_eq!(machine.version, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn an_arm_processor_is_named_by_its_numbers_and_nothing_at_all_still_works() {
        let root = tempfile::tempdir().expect("temporary directory");
        put(
            root.path(),
            "/proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 50\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
        );
        assert_eq!(
            processors(&Kernel::at(root.path())),
            "1 × implementer 0x41 part 0xd0c"
        );
        let empty = Machine::read(Path::new("/nonexistent"));
        assert!(!empty.system.is_empty() && empty.processors.contains(" × "));
        assert_eq!(empty.memory, None);
    }
}
