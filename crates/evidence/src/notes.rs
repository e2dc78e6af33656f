use std::borrow::Cow;
use std::sync::Arc;
use straddle_stack::activity::{Figure, Moment, Quantity, Role, Span, Statistic, Unit};

use crate::gathered::{Gathered, Handle, Name, Noted};
use crate::line::Line;
use crate::stamp::{self, Order};
use crate::subject::Subject;

/// Where readers put what a line says.
pub(crate) struct Notes<'g> {
    pub(crate) gathered: &'g mut Gathered,
    /// The file's name.
    pub(crate) file: Arc<str>,
    /// The last time that was read, for lines that have none of their own.
    pub(crate) clock: Option<Moment>,
    /// When a collector got the line, for lines that have no time of their own.
    pub(crate) collected: Option<Moment>,
    /// Whether the day or the month comes first in dates with slashes, once one of them has shown it.
    date_order: Option<Order>,
    /// The event that a message is in.
    pub(crate) event: Option<crate::stamp::Event>,
    /// The database that was spoken of last, and when.
    pub(crate) database: Option<Arc<str>>,
    pub(crate) database_at: Option<Moment>,
    /// The summary of a backup of which no line above said whose it is.
    pub(crate) unnamed: Option<Box<Unnamed>>,
    /// The last message of SQL Server that was read as text: Event Viewer copies the XML of the same event below it.
    pub(crate) told: Option<Told>,
    /// What stood above reports of sysstat.
    pub(crate) reports: crate::linux::Reports,
    /// Whose the first line is that names its host.
    host: Option<Box<str>>,
    /// The host that an output named last.
    here: Option<Box<str>>,
    /// The last line with a figure that cannot be: it is counted once, however many it has.
    impossible: u64,
    /// What the input is.
    pub(crate) found: Found,
}

/// What was found in an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Names of the formats that were recognised.
    pub formats: Vec<&'static str>,
    /// Figures that were taken.
    pub figures: u64,
    /// Lines that should have given figures, and could not be read.
    pub not_understood: u64,
    /// What it has besides that is known and not read, as `of iostat of Solaris, whose figures are not read`.
    pub other: Option<&'static str>,
    /// What it is where it is no text.
    pub binary: Option<&'static str>,
}

/// A message that was read as text.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// The last line of the input when it was read.
    pub(crate) line: u64,
    pub(crate) text: String,
}

/// The summary of a backup whose database may be named below it: in logs that have the newest line first.
pub(crate) struct Unnamed {
    pub(crate) figures: [(Quantity, f64); 3],
    pub(crate) number: u64,
    pub(crate) text: String,
    pub(crate) moment: Moment,
}

/// A line, and when it was written.
#[derive(Clone, Copy)]
pub(crate) struct At<'t> {
    pub(crate) line: Line<'t>,
    pub(crate) moment: Option<Moment>,
}

/// A series that many figures go to.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) subject: Subject,
    pub(crate) name: Name,
    handle: Option<Handle>,
}

impl Channel {
    /// Means of intervals.
    pub(crate) fn new(subject: &Subject, quantity: Quantity, span: Span) -> Channel {
        Channel {
            subject: subject.clone(),
            name: Name {
                quantity,
                statistic: Statistic::Mean,
                span,
            },
            handle: None,
        }
    }
}

impl<'g> Notes<'g> {
    /// Nothing is known of the input yet.
    pub(crate) fn new(name: &str, gathered: &'g mut Gathered) -> Notes<'g> {
        Notes {
            gathered,
            file: Arc::from(name),
            clock: None,
            collected: None,
            date_order: None,
            event: None,
            database: None,
            database_at: None,
            unnamed: None,
            told: None,
            reports: crate::linux::Reports::default(),
            host: None,
            here: None,
            impossible: 0,
            found: Found::default(),
        }
    }

    /// A line of figures names its host. That there are several is told.
    pub(crate) fn of_host(&mut self, host: &str, line: &Line<'_>) {
        if host.is_empty() || host == "-" {
            return;
        }
        match &self.host {
            Some(first) if is_same_host(first, host) => {}
            Some(_) => self.remark(OTHER_HOST, line),
            None => self.host = Some(host.into()),
        }
    }

    /// An output names its host: what follows is of that one, whoever collected it.
    pub(crate) fn on_host(&mut self, host: &str, line: &Line<'_>) {
        self.of_host(host, line);
        if self.here.as_deref() != Some(host) {
            self.here = Some(host.into());
        }
    }

    /// What something of a host is called: with the host before it where that is another than the first of all inputs. Volumes and files of
    /// several servers have the same names, and make no series and no readings of one another.
    pub(crate) fn name_on<'t>(&mut self, host: &str, name: &'t str) -> Cow<'t, str> {
        // `SERVER\INSTANCE`: of one machine.
        let machine = host.split('\\').next().unwrap_or_default();
        if matches!(machine, "" | "-" | "." | "(local)" | "(none)" | "localhost") {
            return name.into();
        }
        match &self.gathered.host {
            Some(first) if is_same_host(first, machine) => name.into(),
            Some(_) => format!("{machine} {name}").into(),
            None => {
                self.gathered.host = Some(machine.into());
                name.into()
            }
        }
    }

    /// The same, on the host that an output of this input named last.
    pub(crate) fn name_here<'t>(&mut self, name: &'t str) -> Cow<'t, str> {
        let Some(here) = self.here.take() else {
            return name.into();
        };
        let named = self.name_on(&here, name);
        self.here = Some(here);
        named
    }

    /// The same, of what figures are about.
    pub(crate) fn subject_on(&mut self, host: &str, subject: Subject) -> Subject {
        match self.name_on(host, &subject.name) {
            Cow::Borrowed(_) => subject,
            Cow::Owned(name) => Subject::new(subject.kind, &name),
        }
    }

    /// The server that a line is of: one without a name, unless it is another than the first that was named.
    pub(crate) fn server(&mut self, line: &Line<'_>) -> Subject {
        let host = crate::prefix::host(line.text);
        self.of_host(host, line);
        match &self.host {
            Some(first) if !host.is_empty() && !is_same_host(first, host) => Subject::server(host),
            _ => Subject::whole_server(),
        }
    }

    /// A format was recognised.
    pub(crate) fn found(&mut self, format: &'static str) {
        if !self.found.formats.contains(&format) {
            self.found.formats.push(format);
            self.gathered.found(format);
        }
    }

    /// Notes the only figure, or the mean.
    pub(crate) fn add(
        &mut self,
        at: At<'_>,
        subject: &Subject,
        quantity: Quantity,
        span: Span,
        value: f64,
    ) {
        self.add_as(at, subject, (quantity, Statistic::Mean, span), value);
    }

    /// Notes a figure of any kind.
    pub(crate) fn add_as(
        &mut self,
        at: At<'_>,
        subject: &Subject,
        (quantity, statistic, span): (Quantity, Statistic, Span),
        value: f64,
    ) {
        let name = Name {
            quantity,
            statistic,
            span,
        };
        let Some(value) = sound(quantity, value) else {
            return self.impossible(&at.line);
        };
        let noted = Noted {
            file: &self.file,
            line: &at.line,
            value,
            at: at.moment,
            weight: None,
        };
        self.found.figures += 1;
        if self.gathered.add(subject, name, &noted).is_none() {
            self.remark(TOO_MANY, &at.line);
        }
    }

    /// Notes a figure of a series that has many; `weight` is how many requests it stands for.
    pub(crate) fn send(
        &mut self,
        channel: &mut Channel,
        at: At<'_>,
        value: f64,
        weight: Option<f64>,
    ) {
        if value == 0.0 && weight == Some(0.0) && channel.name.quantity.rate().is_some() {
            // Nobody was waited for: zero is no latency, and no size, and would count as a quick interval.
            return;
        }
        let Some(value) = sound(channel.name.quantity, value) else {
            return self.impossible(&at.line);
        };
        let noted = Noted {
            file: &self.file,
            line: &at.line,
            value,
            at: at.moment,
            weight: weight.and_then(Figure::new),
        };
        self.found.figures += 1;
        if let Some(handle) = channel.handle {
            return self.gathered.add_to(handle, channel.name, &noted);
        }
        channel.handle = self.gathered.add(&channel.subject, channel.name, &noted);
        if channel.handle.is_none() {
            self.remark(TOO_MANY, &at.line);
        }
    }

    /// A message was read as text.
    pub(crate) fn tell(&mut self, number: u64, message: &str) {
        // Its memory is used again: such messages may come by the million.
        let told = self.told.get_or_insert_with(|| Told {
            line: number,
            text: String::new(),
        });
        told.line = number;
        told.text.clear();
        told.text.push_str(message);
    }

    /// A line that should have given figures, and cannot be read.
    pub(crate) fn unread(&mut self, line: &Line<'_>) {
        self.found.not_understood += 1;
        self.remark(UNREAD, line);
    }

    /// A line with a figure that no disk can have had.
    fn impossible(&mut self, line: &Line<'_>) {
        if self.impossible != line.number {
            self.impossible = line.number;
            self.unread(line);
        }
    }

    /// A line of a tool whose figures are not read.
    pub(crate) fn other(&mut self, what: &'static str, line: &Line<'_>) {
        self.found.other.get_or_insert(what);
        self.remark(what, line);
    }

    /// Something else is the matter with a line.
    pub(crate) fn remark(&mut self, what: &'static str, line: &Line<'_>) {
        self.gathered.count(what, &self.file, line);
    }

    /// Says of which database a file is, and what it holds.
    pub(crate) fn describe(
        &mut self,
        subject: &Subject,
        database: Option<&str>,
        role: Option<Role>,
    ) {
        if let Some(known) = self.gathered.known(subject) {
            if let Some(database) = database.map(str::trim).filter(|name| !name.is_empty()) {
                known.database.get_or_insert_with(|| database.into());
            }
            known.role = known.role.or(role);
        }
    }

    /// The time in a cell. A day above 12 tells the order of day and month for all that follow: the next month begins with days below it.
    pub(crate) fn time_of(&mut self, text: &str) -> Option<Moment> {
        self.date_order = stamp::order_of(text).or(self.date_order);
        stamp::local(text, self.date_order.unwrap_or(Order::MonthFirst))
    }

    /// A line of this moment. A clock that goes back is told.
    pub(crate) fn at<'t>(&mut self, line: Line<'t>, moment: Option<Moment>) -> At<'t> {
        let moment = moment.or(self.collected);
        if let Some(moment) = moment {
            if self.clock.is_some_and(|clock| moment < clock) {
                self.remark(CLOCK_BACK, &line);
            }
            self.clock = Some(moment);
        }
        At { line, moment }
    }
}

/// Whether two names are of one host: a name with its domain, and without.
fn is_same_host(a: &str, b: &str) -> bool {
    let same = a.eq_ignore_ascii_case(b);
    if same || a.contains('.') == b.contains('.') {
        return same;
    }
    let short = |name: &str| {
        name.split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    short(a) == short(b)
}

/// A figure that can be. None is negative, except by a fault or a counter that says that it knows nothing; and where a counter went backwards,
/// tools print what is left of 2⁶⁴, as `18446744073709551.61` ms.
fn sound(quantity: Quantity, value: f64) -> Option<Figure> {
    let can_be = value < LEAST_OF_LARGE || value < too_large(quantity);
    Figure::new(value).filter(|figure| can_be && *figure >= Figure::ZERO)
}

/// Smaller figures of any quantity can be.
const LEAST_OF_LARGE: f64 = 10_000.0;

/// More than any disk or array of disks comes to.
fn too_large(quantity: Quantity) -> f64 {
    const DAY: f64 = 86_400.0;
    match (quantity.unit(), quantity.rate()) {
        (Unit::Seconds, Some(_)) => DAY,
        (Unit::Fraction, _) => LEAST_OF_LARGE,
        (Unit::PerSecond, _) | (Unit::Bytes, Some(_)) => 1e12,
        (Unit::BytesPerSecond, _) => 1e15,
        (Unit::Count, _) if is_queue(quantity) => 1e9,
        _ => f64::INFINITY,
    }
}

const fn is_queue(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::QueueLength
            | Quantity::SampledQueueLength
            | Quantity::ReadQueueLength
            | Quantity::WriteQueueLength
    )
}

pub(crate) const UNREAD: &str = "not understood";
const TOO_MANY: &str = "with figures of more volumes, files and disks than are kept";
const OTHER_HOST: &str = "of another host than the first";
pub(crate) const CLOCK_BACK: &str = "at which the clock goes back";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_counter_that_went_backwards_leaves_is_no_figure() {
        for (quantity, most, wrapped) in [
            (Quantity::ReadLatency, 7200.0, 18_446_744_073_709.55),
            (Quantity::ReadRate, 20e6, 18_446_744_073_709_552.0),
            (Quantity::TransferThroughput, 1e12, 1.8e19),
            (Quantity::Utilization, 9000.0, 184_467_440_737_095.5),
            (Quantity::QueueLength, 1e6, 1.8e16),
            (Quantity::TransferSize, 1e9, 9.4e21),
        ] {
            assert!(sound(quantity, most).is_some(), "{quantity}");
            assert!(sound(quantity, wrapped).is_none(), "{quantity}");
        }
        // Sums grow for years.
        assert!(sound(Quantity::ReadTime, 1e10).is_some());
        assert!(sound(Quantity::ReadLatency, -1.0).is_none());
    }
}
