//! What is asked of the storage, and who takes the time.

use straddle_rules::figures::{number, percent, time};
use straddle_stack::activity::{Quantity, Span};

use super::ask::{Said, having};
use crate::evidence::joined::Evidence;

pub(super) fn large_or_small(evidence: &Evidence) -> Said {
    let sizes: Vec<_> = [
        Quantity::ReadSize,
        Quantity::WriteSize,
        Quantity::TransferSize,
    ]
    .into_iter()
    .flat_map(|size| {
        having(evidence, size, Span::Interval)
            .into_iter()
            .map(move |found| (size, found))
    })
    .collect();
    let (size, (layer, _, summary)) = sizes
        .iter()
        .max_by(|a, b| a.1.2.mean.get().total_cmp(&b.1.2.mean.get()))?;
    let kib = |bytes: f64| format!("{} KiB", number((bytes / 102.4).round() / 10.0));
    let at_largest = summary
        .max
        .at
        .map_or_else(String::new, |at| format!(" at {at}"));
    let text = format!(
        "The mean {} of {} is {}, at most {}{at_largest}. A request of 1 MiB takes longer by what it transfers: 5 ms at 200 MB/s. Within an interval \
         counters do not tell sizes apart.",
        size.name().replace('-', " "),
        layer.name,
        kib(summary.mean.get()),
        kib(summary.max.value.get())
    );
    Some((
        text,
        Some("a trace (blktrace, ETW), which has the size and the time of each request"),
    ))
}

pub(super) fn mix(evidence: &Evidence) -> Said {
    let reads = having(evidence, Quantity::ReadRate, Span::Interval);
    let (layer, activity, reads) = reads
        .into_iter()
        .max_by(|a, b| a.2.mean.get().total_cmp(&b.2.mean.get()))?;
    let writes = activity.mean(Quantity::WriteRate, Span::Interval)?;
    let all = reads.mean.get() + writes.mean.get();
    if all <= 0.0 {
        return None;
    }
    let size = |quantity| {
        activity
            .mean(quantity, Span::Interval)
            .map(|size| size.mean.get() / 1024.0)
    };
    let sizes = match (size(Quantity::ReadSize), size(Quantity::WriteSize)) {
        (Some(read), Some(write)) => {
            format!("; a read is {read:.1} KiB long, a write {write:.1} KiB")
        }
        _ => String::new(),
    };
    let share = writes.mean.get() / all;
    let which = match share > 0.05 {
        true => {
            "Writes meet every boundary: stripe units split them, sectors, pages and full stripes that they cover in part are read first."
        }
        false => {
            "For reads only boundaries that split matter: stripe units, and chunks of thin volumes; sectors and pages cost them nothing."
        }
    };
    let text = format!(
        "{}: {} reads and {} writes{sizes}. {which}",
        layer.name,
        percent(reads.mean.get() / all),
        percent(share)
    );
    Some((text, None))
}

pub(super) fn is_it_full(evidence: &Evidence) -> Said {
    let busy = having(evidence, Quantity::Utilization, Span::Interval);
    let (layer, activity, busy) = busy
        .into_iter()
        .max_by(|a, b| a.2.max.value.get().total_cmp(&b.2.max.value.get()))?;
    if busy.max.value.get() < 0.9 {
        return None;
    }
    let queue = activity.mean(Quantity::QueueLength, Span::Interval);
    let queue_text = queue.map_or_else(String::new, |queue| {
        format!(", with a mean queue of {}", number(queue.mean.get()))
    });
    // Who is busy all the time has one request under way at least.
    let both = activity
        .mean(Quantity::Utilization, Span::Interval)
        .zip(queue)
        .map(|(busy, queue)| (busy.mean.get(), queue.mean.get()));
    let doubt = match both {
        Some((busy, queue)) if queue < 0.9 * busy.min(1.0) => format!(
            " The two contradict each other: a mean queue of {} is a disk that was busy {} of the time at most, and a share that is \
             counted by the ticks of a clock, as Linux does since 5.0, is too large.",
            number(queue),
            percent(queue)
        ),
        _ => String::new(),
    };
    let text = format!(
        "No. {} was busy {} of the busiest interval{queue_text}: at least one request was under way all the time.{doubt} A disk that serves one at a \
         time is full then; flash and arrays serve many at once, and are full when more requests bring longer latency instead of more of them.",
        layer.name,
        percent(busy.max.value.get().min(1.0))
    );
    Some((
        text,
        Some("the rate and the latency at a higher load (`straddle bench` with more threads)"),
    ))
}

pub(super) fn guest_host_array(evidence: &Evidence) -> Said {
    let mut guests = having(evidence, Quantity::GuestLatency, Span::Interval);
    guests.sort_by(|a, b| b.2.mean.get().total_cmp(&a.2.mean.get()));
    let (layer, activity, guest) = guests.first()?;
    let mean = |quantity| {
        activity
            .mean(quantity, Span::Interval)
            .map(|summary| summary.mean.get())
    };
    // What a guest sees is what the device takes and what the kernel adds, so that two of the three give the third.
    let device = mean(Quantity::DeviceLatency);
    let kernel = mean(Quantity::KernelLatency)
        .or_else(|| device.map(|device| (guest.mean.get() - device).max(0.0)));
    let device = device.or_else(|| kernel.map(|kernel| (guest.mean.get() - kernel).max(0.0)));
    let (Some(device), Some(kernel)) = (device, kernel) else {
        return Some((
            format!(
                "{}: the guest sees {}; what the host adds is not told.",
                layer.name,
                time(guest.mean.get())
            ),
            Some("DAVG or KAVG of the same device"),
        ));
    };
    // What `hypervisor-latency` finds to be much.
    let whose = match (kernel > 0.002, kernel > device) {
        (true, true) => "the host: commands wait in its queue",
        (true, false) => {
            "both: the array or the path to it takes most, and commands wait in the host's queue, too"
        }
        (false, _) => "the array or the path to it: the host adds little on average",
    };
    let text = format!(
        "{}: GAVG {} = DAVG {} (array and path) + KAVG {} (host). It is {whose}.",
        layer.name,
        time(guest.mean.get()),
        time(device),
        time(kernel)
    );
    Some((
        text,
        Some(
            "latency as the guest's own tools see it: what is longer than GAVG is spent in the guest",
        ),
    ))
}
