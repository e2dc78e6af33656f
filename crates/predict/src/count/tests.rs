use super::*;
use crate::profile::{Origin, registry};
use crate::requests::Arrivals;
use crate::scenario::replay;
use crate::system::Length;
use proptest::prelude::*;
use std::time::Duration;
use straddle_geometry::{Access, Bytes, Grid, Lattice, Ratio, Unit};
use straddle_workload::{Pattern, Percent, Workload};

fn unit(bytes: u64) -> Unit {
    Unit::new(bytes).expect("not zero")
}

fn scenario(io: u64, offset: u64, span: u64, stripe: u64) -> Scenario {
    let profile = registry::load("fixed-service").expect("one of ours");
    let stripe = toml::Value::Integer(stripe.cast_signed());
    Scenario {
        profile: profile
            .with("array.stripe_unit", &stripe, Origin::Flag)
            .expect("it is allowed"),
        workload: Workload {
            reads: Percent::NONE,
            pattern: Pattern::Sequential,
            sizes: vec![(unit(io), 1)],
            workers: 1,
            outstanding: 1,
            think: Duration::ZERO,
            rate: None,
        },
        script: None,
        arrivals: Arrivals::Even,
        offset: Bytes::new(offset),
        span: Some(Bytes::new(span)),
    }
}

fn is(count: u64, of: u64, share: Ratio) -> bool {
    u128::from(count) * u128::from(share.denominator())
        == u128::from(share.numerator()) * u128::from(of)
}

/// Requests of a stream that was written down.
#[derive(Clone)]
struct Recorded(Vec<Next>);

impl Requests for Recorded {
    fn streams(&self) -> u32 {
        1
    }

    fn next(&mut self, _now: Time, _stream: u32) -> Option<Next> {
        self.0.pop()
    }

    fn is_open(&self) -> bool {
        false
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Every place of the lattice once, over whole periods of both: the means over the endless lattice are exact.
    #[test]
    fn counts_are_geometrys_closed_forms(
        io in 1_u64..300,
        stripe in 1_u64..300,
        offset in 0_u64..1000,
        periods in 1_u64..4,
    ) {
        let (io, stripe, offset) = (io * 512, stripe * 512, offset * 512);
        let requests = periods * stripe;
        // As many requests as a stripe unit has sectors come round to the same places of it.
        let requests = requests / 512;
        let scenario = scenario(io, offset, io * requests, stripe);
        let found = count(&scenario, 1, requests).expect("it fits");
        let lattice = Lattice::back_to_back(Bytes::new(offset), unit(io));
        let grid = Grid::new(unit(stripe));
        let expected = lattice.crossings(grid);
        prop_assert_eq!(found.commands, requests);
        prop_assert!(is(found.units - requests, requests, expected.mean));
        prop_assert!(is(found.straddling, requests, expected.straddling));
        prop_assert_eq!(found.member_bytes, requests * io);
        prop_assert_eq!(found.member_reads, 0);
        // In RAID 0, each unit is one operation of a member, unless a request goes round all members and joins them.
        if io <= 7 * stripe {
            prop_assert_eq!(found.member_writes, found.units);
        }
    }

    #[test]
    fn granules_are_geometrys_closed_form(
        len in 1_u64..70,
        granule in 1_u64..40,
        shift in 0_u64..40,
        offset in 0_u64..100,
    ) {
        let granules = Granules { unit: granule * 512, shift: shift * 512 };
        let (mut touched, mut partial) = (0, 0);
        for place in 0..granule {
            let operation = Operation::write((offset + place * len) * 512, len * 512);
            let (these, cut) = granules.of(operation);
            touched += these;
            partial += cut;
        }
        let lattice = Lattice::back_to_back(Bytes::new((offset + shift) * 512), unit(len * 512));
        let grid = Grid::new(unit(granule * 512));
        prop_assert!(is(touched, granule, lattice.mean_units(grid)));
        prop_assert!(is(partial, granule, lattice.partial(grid)));
    }
}

#[test]
fn a_timed_run_counts_the_same() {
    for (name, _) in registry::PROFILES {
        let profile = registry::load(name).expect("one of ours");
        // Caches, and what devices put together in time, are no part of counts without time.
        let profile = profile.without("cache");
        let all: Vec<Next> = (0..2_000_u64)
            .map(|n| Next {
                due: Time::ZERO,
                access: if n % 3 == 0 {
                    Access::Write
                } else {
                    Access::Read
                },
                start: Bytes::new(n * 7919 % 20_011 * 512),
                len: Bytes::new((n % 300 + 1) * 512),
            })
            .collect();
        let length = Length {
            warm_up: 0,
            measured: u64::MAX,
        };
        let timed = replay(&profile, &mut Recorded(all.clone()), 1, length);
        let timed = timed
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
            .counts;
        let found = count_requests(&profile, &mut Recorded(all), u64::MAX);
        let found = found.unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(found, timed, "{name}");
        assert_eq!(found.commands, 2_000);
    }
}

#[test]
fn what_lies_beyond_the_end_is_refused() {
    let profile = registry::load("fixed-service").expect("one of ours");
    let next = Next {
        due: Time::ZERO,
        access: Access::Read,
        start: Bytes::new(u64::MAX),
        len: Bytes::new(2),
    };
    count_requests(&profile, &mut Recorded(vec![next]), 1).expect_err("beyond the end");
    let none = count_requests(&profile, &mut Recorded(vec![next]), 0);
    assert_eq!(none, Ok(Counts::default()));
}
