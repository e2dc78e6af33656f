//! Rows of `iostat -x` without the names of their columns, as `grep` picks them and as the end of a long log has them. Versions differ in how many
//! figures a row has, and which they are is proven by the row itself: a throughput is a rate times a size.

use straddle_stack::activity::Quantity;

use super::rows::{Columns, figure};

/// The extended reports of sysstat, newest first; each with kibibytes, mebibytes or sectors a second.
const LAYOUTS: [&str; 6] = [
    "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await \
     aqu-sz %util",
    "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz d/s dkB/s drqm/s %drqm d_await dareq-sz aqu-sz %util",
    "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util",
    "Device tps kB/s rqm/s await areq-sz aqu-sz %util",
    "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
];

/// What stands for kibibytes in the names of a layout.
const UNITS: [&str; 3] = ["kB/s", "MB/s", "sec/s"];

/// Below this many requests a second, figures of two decimals prove nothing.
const MIN_RATE: f64 = 0.5;

/// The names of the columns of a row, where what it says fits one layout.
pub(super) fn columns(text: &str, device: &[&str]) -> Option<Columns> {
    // Asked of every line of any text.
    if !text.trim_ascii_end().as_bytes().last()?.is_ascii_digit() {
        return None;
    }
    let mut words = text.split_ascii_whitespace();
    let name = words.next()?;
    if figure(name).is_some() || !name.as_bytes().first()?.is_ascii_alphabetic() {
        return None;
    }
    let mut figures = [0.0; 22];
    let mut count = 0;
    for word in words {
        let figure = figure(word).filter(|figure| figure.unit.is_none())?;
        *figures.get_mut(count)? = figure.value;
        count += 1;
    }
    let figures = &figures[..count];
    let layouts = LAYOUTS
        .iter()
        .filter(|layout| layout.split(' ').count() == count + 1);
    let mut named = layouts
        .flat_map(|layout| UNITS.iter().map(|unit| layout.replace("kB/s", unit)))
        .filter_map(|names| Columns::of(&names, device))
        .filter(|columns| is_proven(columns, figures));
    let found = named.next()?;
    // Two that fit are none.
    named.next().is_none().then_some(found)
}

/// Whether each throughput of a row is its rate times its size, and one of them is more than nothing.
fn is_proven(columns: &Columns, figures: &[f64]) -> bool {
    let of = |quantity: Quantity| columns.value(quantity, figures);
    let busy = of(Quantity::Utilization);
    if busy.is_none_or(|busy| !(0.0..=1.05).contains(&busy)) {
        return false;
    }
    let (rates, throughputs) = (
        [Quantity::ReadRate, Quantity::WriteRate].map(of),
        [Quantity::ReadThroughput, Quantity::WriteThroughput].map(of),
    );
    let sum = |pair: [Option<f64>; 2]| Some(pair[0]? + pair[1]?);
    // Reads, writes, and where one size stands for both, these.
    let claims = [
        (rates[0], throughputs[0], of(Quantity::ReadSize)),
        (rates[1], throughputs[1], of(Quantity::WriteSize)),
        (
            sum(rates).or_else(|| of(Quantity::TransferRate)),
            sum(throughputs).or_else(|| of(Quantity::TransferThroughput)),
            of(Quantity::TransferSize),
        ),
    ];
    let mut proven = 0;
    for claim in claims {
        let (Some(rate), Some(throughput), Some(size)) = claim else {
            continue;
        };
        if rate < MIN_RATE || size <= 0.0 {
            continue;
        }
        // Mebibytes have two decimals.
        let rounding = 0.006 * size + 6.0 * 1024.0;
        if (throughput - rate * size).abs() > 0.02 * rate * size + rounding {
            return false;
        }
        proven += usize::from(throughput > 20.0 * 1024.0);
    }
    proven > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: [&str; 2] = ["Device", "Device:"];

    fn found(row: &str) -> Option<Vec<(Quantity, f64)>> {
        let columns = columns(row, &DEVICE)?;
        let figures: Vec<f64> = row
            .split_whitespace()
            .skip(1)
            .map(|word| figure(word).expect("a figure").value)
            .collect();
        let some = [
            Quantity::ReadRate,
            Quantity::TransferRate,
            Quantity::WriteThroughput,
            Quantity::TransferThroughput,
            Quantity::WriteLatency,
            Quantity::TransferLatency,
            Quantity::Utilization,
        ];
        let value = |quantity| Some((quantity, columns.value(quantity, &figures)?));
        Some(some.into_iter().filter_map(value).collect())
    }

    #[test]
    fn every_layout_is_told_by_its_figures() {
        use Quantity::*;
        for (row, expected) in [
            (
                "sda 10.00 160.00 0.00 0.00 25.00 16.00 5.00 80.00 0.00 0.00 12.00 16.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.31 20.00",
                vec![
                    (ReadRate, 10.0),
                    (WriteThroughput, 80.0 * 1024.0),
                    (WriteLatency, 0.012),
                    (Utilization, 0.2),
                ],
            ),
            // In mebibytes.
            (
                "nvme0n1 0.00 0.00 0.00 0.00 0.00 0.00 512.00 32.00 0.00 0.00 0.50 64.00 0.00 0.00 0.00 0.00 0.00 0.00 0.26 51.00",
                vec![
                    (ReadRate, 0.0),
                    (WriteThroughput, 32.0 * 1048576.0),
                    (WriteLatency, 0.0005),
                    (Utilization, 0.51),
                ],
            ),
            (
                "dm-3 40.00 20.00 320.00 640.00 0.00 0.00 0.00 0.00 5.00 7.50 0.35 8.00 32.00 1.00 6.00",
                vec![
                    (ReadRate, 40.0),
                    (WriteThroughput, 640.0 * 1024.0),
                    (WriteLatency, 0.0075),
                    (Utilization, 0.06),
                ],
            ),
            (
                "sdb 120.00 1920.00 0.00 8.00 16.00 0.96 40.00",
                vec![
                    (TransferRate, 120.0),
                    (TransferThroughput, 1920.0 * 1024.0),
                    (TransferLatency, 0.008),
                    (Utilization, 0.4),
                ],
            ),
            // In sectors, and with commas.
            (
                "sdb 0,00 3,00 45,00 2,00 720,00 16,00 15,66 0,90 19,10 19,50 10,00 6,00 28,20",
                vec![
                    (ReadRate, 45.0),
                    (WriteThroughput, 16.0 * 512.0),
                    (WriteLatency, 0.01),
                    (TransferLatency, 0.0191),
                    (Utilization, 0.282),
                ],
            ),
            (
                "sda 0.00 3.00 1.00 12.00 8.00 120.00 19.69 0.05 3.90 1.20 1.56",
                vec![
                    (ReadRate, 1.0),
                    (WriteThroughput, 120.0 * 1024.0),
                    (TransferLatency, 0.0039),
                    (Utilization, 0.0156),
                ],
            ),
        ] {
            let found = found(row).unwrap_or_else(|| panic!("nothing: {row}"));
            let is_near = |(one, other): (&(Quantity, f64), &(Quantity, f64))| {
                one.0 == other.0 && (one.1 - other.1).abs() <= 1e-9 * one.1.abs()
            };
            assert_eq!(found.len(), expected.len(), "{row}: {found:?}");
            assert!(found.iter().zip(&expected).all(is_near), "{row}: {found:?}");
        }
    }

    #[test]
    fn what_is_not_proven_is_nothing() {
        for row in [
            // Idle.
            "sda 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00",
            // A size that is not what the others come to.
            "sda 0.00 3.00 1.00 12.00 8.00 120.00 99.00 0.05 3.90 1.20 1.56",
            // More than all the time.
            "sda 0.00 3.00 1.00 12.00 8.00 120.00 19.69 0.05 3.90 1.20 156.00",
            "sda 1 2 3",
            "Linux 5.10 2 3 4 5 6 7",
            "1 2 3 4 5 6 7 8",
            "cpu0 10132153 290696 3084719 46828483 16683 0 25195",
            "",
        ] {
            assert_eq!(found(row), None, "{row}");
        }
    }
}
