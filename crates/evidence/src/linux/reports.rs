use straddle_stack::activity::Moment;

use super::clock::{self, Day, Time};

/// What was said above reports that are still to come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reports {
    /// A banner was read, and no report of iostat since: the next one counts since the system was started.
    since_start: bool,
    /// The last command leaves that report out.
    leaves_out: bool,
    /// It is known of the first report of the input what it counts, or was said that it is not.
    is_settled: bool,
    /// The banner's date.
    day: Option<Day>,
    /// How many days after it the last time of day was, and that time.
    later: u32,
    last: Option<Time>,
    stamp: Option<Stamp>,
    /// Goes up with every banner and every stamp.
    pub(super) change: u64,
}

/// A moment that stands in a line of its own.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    moment: Moment,
    /// It goes for all that follows, not only for the first output.
    stays: bool,
    used: bool,
}

/// A longer line is none of these.
const LONGEST: usize = 256;

impl Reports {
    /// Keeps what a line says that is no part of a report; asked for every line that nobody else has. The host that a banner names.
    pub(super) fn remember<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        if text.len() > LONGEST {
            return None;
        }
        let text = text.trim();
        if text.starts_with("Linux ") {
            return self.banner(text);
        }
        // Whether it is there is soon told, where it is not.
        if text.contains("iostat")
            && let Some(at) = text.find("iostat")
        {
            self.leaves_out = leaves_out(&text[at + "iostat".len()..]);
        }
        let stamp = match text.strip_prefix("Every ") {
            // The host and the time stand at the end.
            Some(rest) => rest
                .rsplit_once(": ")
                .and_then(|(_, time)| clock::english(time)),
            None => clock::line(text),
        };
        if let Some(moment) = stamp {
            // OSWatcher writes one above what is printed within some seconds.
            let stays = text.starts_with("zzz");
            self.stamp = Some(Stamp {
                moment,
                stays,
                used: false,
            });
            self.change += 1;
        }
        None
    }

    /// `Linux RELEASE (HOST) DATE …`.
    fn banner<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let (_, behind) = text.split_once(" (")?;
        // A machine without a name is called `(none)`.
        let mut ends = behind.match_indices(')');
        let (end, _) = ends.find(|(at, _)| behind[at + 1..].starts_with([' ', '\t']))?;
        let (host, behind) = (&behind[..end], &behind[end + 1..]);
        let day = Day::of(behind.split_ascii_whitespace().next()?)?;
        self.day = Some(day);
        (self.later, self.last) = (0, None);
        self.since_start = !std::mem::take(&mut self.leaves_out);
        self.change += 1;
        Some(host)
    }

    /// Whether the report that begins now counts since the system was started.
    pub(super) fn is_since_start(&mut self) -> bool {
        std::mem::take(&mut self.since_start)
    }

    /// Whether nothing says if the first report counts since the system was started: what stands above was not copied. Asked once.
    pub(super) fn is_open(&mut self) -> bool {
        let is_known = self.day.is_some() || self.leaves_out;
        !std::mem::replace(&mut self.is_settled, true) && !is_known
    }

    /// Whether the command was told to leave out the report that counts since the system was started.
    pub(super) fn are_intervals(&self) -> bool {
        self.leaves_out
    }

    /// The moment of an output that begins now, if a line above says it.
    pub(super) fn moment(&mut self) -> Option<Moment> {
        let stamp = self.stamp.as_mut()?;
        let is_new = !std::mem::replace(&mut stamp.used, true);
        (is_new || stamp.stays).then_some(stamp.moment)
    }

    /// When a row of sar was taken, of which it says only the time of the day.
    pub(super) fn of_day(&mut self, time: Time, half: bool) -> Option<Moment> {
        let seconds = |(hour, minute, second): Time| hour * 3600 + minute * 60 + second;
        // Far back is the next day; a little, a clock that was set.
        const FAR: u32 = 12 * 3600;
        if self
            .last
            .is_some_and(|last| seconds(last) > seconds(time) + FAR)
        {
            self.later = self.later.saturating_add(1);
        }
        self.last = Some(time);
        self.day?.moment(time, half, self.later)
    }

    /// The next report is of the same days again.
    pub(super) fn begin_again(&mut self) {
        (self.later, self.last) = (0, None);
    }
}

/// Whether options have `-y`, which goes for reports at intervals only.
fn leaves_out(options: &str) -> bool {
    let words = || options.split_ascii_whitespace();
    let is_option = |word: &str| {
        word.starts_with('-')
            && word.len() > 1
            && word[1..].bytes().all(|byte| byte.is_ascii_alphabetic())
            && word.contains('y')
    };
    let is_interval = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words().any(is_option) && words().any(is_interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_behind_a_banner_counts_since_the_start_but_for_an_option() {
        let banner = "Linux 6.1.0 (x) \t2024-05-14 \t_x86_64_\t(2 CPU)";
        for (command, expected) in [
            ("$ iostat -x 5", true),
            ("$ iostat -xy 5 2", false),
            ("$ iostat -y", true),
            ("$ iostat -x sdy 5", true),
        ] {
            let mut reports = Reports::default();
            assert!(!reports.is_since_start());
            reports.remember(command);
            reports.remember(banner);
            assert_eq!(reports.is_since_start(), expected, "{command}");
            assert!(!reports.is_since_start());
        }
    }

    #[test]
    fn days_follow_the_banner() {
        let mut reports = Reports::default();
        assert_eq!(reports.of_day((1, 2, 3), false), None);
        reports.remember("Linux 6.1.0 (x) \t12/31/24 \t_x86_64_\t(2 CPU)");
        let mut at = |time| {
            let moment = reports.of_day(time, false);
            moment.map(|moment| moment.to_string()).unwrap_or_default()
        };
        assert_eq!(at((23, 50, 1)), "2024-12-31T23:50:01");
        assert_eq!(at((0, 0, 1)), "2025-01-01T00:00:01");
        assert_eq!(at((0, 0, 0)), "2025-01-01T00:00:00");
        assert_eq!(
            Reports::default().remember("Linux 6.1.0 ((none)) \t2025-01-01 \t_x86_64_\t(2 CPU)"),
            Some("(none)")
        );
        reports.begin_again();
        let moment = reports.of_day((0, 0, 1), false).expect("a date");
        assert_eq!(moment.to_string(), "2024-12-31T00:00:01");
    }

    #[test]
    fn a_stamp_is_of_the_first_output() {
        let mut reports = Reports::default();
        reports.remember("Fri Mar 15 09:12:01 UTC 2024");
        assert!(reports.moment().is_some());
        assert!(reports.moment().is_none());
        reports.remember("zzz ***Fri Mar 15 09:12:01 UTC 2024");
        assert!(reports.moment().is_some());
        assert!(reports.moment().is_some());
    }
}
