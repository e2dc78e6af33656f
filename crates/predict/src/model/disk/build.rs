//! A disk from a profile's section.

use super::ahead::Ahead;
use super::arm::Mechanics;
use super::cache::{Batch, Cache};
use super::clock::Clock;
use super::queue::{Queue, Scheduling};
use super::seek::{Curve, MAX_TURNS, Moves};
use super::zones::{Place, Zones};
use super::{Current, Disk, keys};
use crate::kernel::Time;
use crate::model::Tally;
use crate::profile::{Key, Refusal, Section};

/// Share of a disk's sectors that may be spare.
const MAX_SPARE: f64 = 0.25;
/// How far a curve's average may be off the published one.
const NEAR: f64 = 0.05;

impl Disk {
    pub(super) fn of(section: &Section, random: u64) -> Result<Disk, Refusal> {
        if section.word(&keys::RECORDING) == "shingled" {
            return Err(section.refuse(
                &keys::RECORDING,
                "conventional: what a drive that shingles its tracks does with a random write depends on a media cache that no maker describes",
            ));
        }
        let (logical, physical): (u64, u64) = match section.word(&keys::FORMAT) {
            "512n" => (512, 512),
            "512e" => (512, 4096),
            _ => (4096, 4096),
        };
        let capacity = section.whole(&keys::CAPACITY) / logical * logical;
        let lead = section.whole(&keys::SHIFT);
        if !lead.is_multiple_of(logical) || lead >= physical {
            let expected = format!("a multiple of {logical} bytes below {physical}");
            return Err(section.refuse(&keys::SHIFT, expected));
        }
        let shift = (physical - lead) % physical;
        let sectors = (capacity + shift).div_ceil(physical);
        let mut zones = zones(section, sectors)?;
        let revolution = 60.0 / section.number(&keys::SPEED);
        let curve = curve(section, zones.cylinders())?;
        let settle = section.number(&keys::SETTLE);
        let switch = section.number(&keys::SWITCH);
        let longest = curve.at(f64::from(zones.cylinders() - 1)).max(switch) + settle;
        if longest > MAX_TURNS * revolution {
            let expected = format!(
                "such that no seek takes longer than {MAX_TURNS} revolutions; one takes {:.1} ms",
                longest * 1e3
            );
            return Err(section.refuse(&keys::SPEED, expected));
        }
        let phase = mix(random);
        let clock = Clock::new(revolution, phase);
        let skew = |key: &Key, time: f64| {
            let time = section.optional(key).unwrap_or(time + settle);
            // Longer than a revolution is as far as what is left of it.
            u32::try_from(clock.steps(time % revolution)).unwrap_or(0)
        };
        zones.track_skew = skew(&keys::TRACK_SKEW, switch);
        zones.cylinder_skew = skew(&keys::CYLINDER_SKEW, curve.single);
        let moves = Moves::new(curve, switch, settle, revolution);
        let scheduling = match section.word(&keys::SCHEDULING) {
            "fifo" => Scheduling::Fifo,
            "elevator" => Scheduling::Elevator,
            _ => Scheduling::Position,
        };
        let patience = section.optional(&keys::PATIENCE).map(Time::seconds);
        let count = |key| usize::try_from(section.whole(key)).unwrap_or(1);
        Ok(Disk {
            capacity,
            logical,
            shift,
            sector_bits: physical.trailing_zeros(),
            seconds_per_byte: 1.0 / section.number(&keys::BUS),
            overhead: section.time(&keys::OVERHEAD),
            depth: count(&keys::DEPTH),
            batch: Batch {
                whole: count(&keys::BATCH),
                partial: match section.optional(&keys::PARTIAL_BATCH) {
                    Some(_) => count(&keys::PARTIAL_BATCH),
                    None => count(&keys::BATCH) / 2,
                },
            },
            gap: clock.steps(section.number(&keys::GAP)),
            is_sorted: section.word(&keys::ORDER) == "sorted",
            place: Place::default(),
            mechanics: Mechanics::new(clock, zones, moves),
            queue: Queue::new(scheduling, patience),
            arriving: std::collections::VecDeque::new(),
            outside: std::collections::VecDeque::new(),
            blocked: std::collections::VecDeque::new(),
            answers: std::collections::VecDeque::new(),
            cache: Cache::new(section.whole(&keys::CACHE), count(&keys::CACHED_WRITES)),
            ahead: Ahead::new(
                section.whole(&keys::AHEAD) / physical,
                count(&keys::SEGMENTS),
            ),
            pass: Vec::new(),
            current: Current::Nothing,
            ends: Time::NEVER,
            next: Time::NEVER,
            bus_free: Time::ZERO,
            was_pass: false,
            tally: Tally::default(),
            busy: Time::ZERO,
        })
    }
}

/// Spreads a seed over 64 bits (the finaliser of `SplitMix64`).
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn zones(section: &Section, sectors: u64) -> Result<Zones, Refusal> {
    let refuse = |expected: String| Err(section.refuse(&keys::ZONES, expected));
    let surfaces = u32::try_from(section.whole(&keys::SURFACES)).unwrap_or(1);
    let mut rows = Vec::new();
    for row in section.table(&keys::ZONES) {
        let &[share, per_track] = row.as_slice() else {
            return refuse("rows of two".to_owned());
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "ranges are checked when a profile is read"
        )]
        rows.push((share, libm::round(per_track) as u32));
    }
    let sum: f64 = rows.iter().map(|row| row.0).sum();
    if rows.len() > 64 || (sum - 1.0).abs() > 1e-3 {
        return refuse(format!(
            "up to 64 rows whose shares come to 1, not {sum:.4}"
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "sectors are fewer than 2⁵³")]
    let (wanted, mean) = (
        sectors as f64,
        rows.iter().map(|row| row.0 * f64::from(row.1)).sum::<f64>() / sum * f64::from(surfaces),
    );
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "such casts stop at either end of the range"
    )]
    let cylinders = match section.optional(&keys::CYLINDERS) {
        Some(cylinders) => cylinders as u32,
        None => libm::ceil(wanted / mean + 1.0) as u32,
    };
    if !(16..=2_000_000).contains(&cylinders) {
        return refuse(format!(
            "so many sectors that the capacity takes 16 to 2,000,000 cylinders, not {cylinders}"
        ));
    }
    let mut zones = Zones::new(&rows, cylinders, surfaces);
    if section.optional(&keys::CYLINDERS).is_none() && zones.sectors() < sectors {
        // Zones begin at whole cylinders, which may take away some.
        zones = Zones::new(&rows, cylinders + 64, surfaces);
    }
    #[expect(clippy::cast_precision_loss, reason = "sectors are fewer than 2⁵³")]
    let spare = zones.sectors() as f64 / wanted - 1.0;
    if zones.sectors() < sectors || (cylinders > 1000 && spare > MAX_SPARE) {
        let expected = format!(
            "that which its tracks hold, {} physical sectors, less spare ones of at most {:.0}%; this takes {sectors}",
            zones.sectors(),
            MAX_SPARE * 100.0
        );
        return Err(section.refuse(&keys::CAPACITY, expected));
    }
    Ok(zones)
}

fn curve(section: &Section, cylinders: u32) -> Result<Curve, Refusal> {
    let single = section.number(&keys::SINGLE);
    let most = f64::from(cylinders - 1);
    let coefficients = [&keys::CONSTANT, &keys::ROOT, &keys::LINEAR];
    let given = coefficients.map(|key| section.optional(key));
    if let [None, None, None] = given {
        let missing = |key: &Key| {
            let expected = "a time, or seek_constant, seek_root and seek_linear instead";
            section.refuse(key, expected)
        };
        let average = section
            .optional(&keys::AVERAGE)
            .ok_or_else(|| missing(&keys::AVERAGE))?;
        let full = section
            .optional(&keys::FULL)
            .ok_or_else(|| missing(&keys::FULL))?;
        return Curve::through(single, average, full, cylinders).ok_or_else(|| {
            let expected = format!(
                "one that a rising curve has which takes {:.3} ms for one cylinder and {:.3} ms for the full stroke",
                single * 1e3,
                full * 1e3
            );
            section.refuse(&keys::AVERAGE, expected)
        });
    }
    let [Some(a), Some(b), Some(c)] = given else {
        let missing = coefficients
            .into_iter()
            .zip(given)
            .find(|(_, given)| given.is_none());
        let key = missing.map_or(&keys::CONSTANT, |(key, _)| key);
        return Err(section.refuse(key, "a number, as the other two coefficients have one"));
    };
    let curve = Curve {
        single,
        a,
        b: b / 1e3,
        c: c / 1e3,
    };
    if !curve.rises(most) {
        return Err(section.refuse(
            &keys::SINGLE,
            format!(
                "less than the {:.3} ms for two cylinders",
                curve.at(2.0) * 1e3
            ),
        ));
    }
    if section.optional(&keys::FULL).is_some() {
        return Err(section.refuse(
            &keys::FULL,
            "nothing, as the curve is given by its coefficients",
        ));
    }
    let average = curve.average(cylinders);
    match section.optional(&keys::AVERAGE) {
        Some(said) if (average / said - 1.0).abs() > NEAR => Err(section.refuse(
            &keys::AVERAGE,
            format!("the curve's, {:.3} ms, within 5%", average * 1e3),
        )),
        _ => Ok(curve),
    }
}
