use proptest::prelude::*;

use super::*;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn read(line: &str) -> Command {
    parse(&words(line)).unwrap_or_else(|refused| panic!("{line}: {refused}"))
}

/// Command lines from published scripts and articles: what is asked of the storage.
#[test]
fn published_command_lines() {
    use Pattern::{Random, Sequential};
    // KiB, threads, outstanding of each, pattern, percent reads, seconds, direct, write-through, GiB or MiB made.
    let cases = [
        (
            r"-b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c20G C:\iotest.dat",
            (8, 8, 4, Random, 75, 30, true, true, 20 << 30),
        ),
        (
            r"-b8K -d20 -h -L -o2 -t4 -r -w30 -c50M c:\diskspd\io.dat",
            (8, 4, 2, Random, 70, 20, true, true, 50 << 20),
        ),
        (
            r"-c2G -w50 -b64K -o32 -t4 -d600 -Sh F:\testfile.dat",
            (64, 4, 32, Sequential, 50, 600, true, true, 2 << 30),
        ),
        (
            r"-c35G -b1M -d300 -r -w99 -t8 -o64 -L -Sh -L -Zr -W0 E:\san_testfile_small.dat",
            (1024, 8, 64, Random, 1, 300, true, true, 35 << 30),
        ),
        (
            "-c1G -b512k -d6000 -w50 benchmark.bin",
            (512, 1, 2, Sequential, 50, 6000, false, false, 1 << 30),
        ),
        (
            r"-c256M -d120 -si -w0 -t2 -o8 -b4K -h -L \\mb-win81\diskspd\testfile.dat",
            (4, 1, 16, Sequential, 100, 120, true, true, 256 << 20),
        ),
        (
            r"-c100G -b4K -r -o64 -t8 -w0 -d120 -Sh -L E:\esan_test.dat",
            (4, 8, 64, Random, 100, 120, true, true, 100 << 30),
        ),
        (
            r"-b8k -t4 -o16 -w0 -c1G -r -h -d10 -W5 -L C:\test.dat",
            (8, 4, 16, Random, 100, 10, true, true, 1 << 30),
        ),
        (
            "-c8192K -d1 testfile.dat",
            (64, 1, 2, Sequential, 100, 1, false, false, 8 << 20),
        ),
        (
            "-b4K -t2 -r -o32 -d10 -Sh -c1G testfile.dat",
            (4, 2, 32, Random, 100, 10, true, true, 1 << 30),
        ),
        (
            "/b4k /t1 /o64 /r4k /w /W60 /d60 /L /Rtext /c10b testfile1.dat testfile2.dat",
            (4, 1, 64, Random, 100, 60, false, false, 40 << 10),
        ),
    ];
    for (line, (kib, threads, outstanding, pattern, reads, seconds, direct, through, made)) in cases
    {
        let command = read(line);
        let expected = Workload {
            reads: Percent::new(reads).expect("below 100"),
            pattern,
            sizes: vec![(Unit::new(kib << 10).expect("not zero"), 1)],
            workers: 1,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        };
        assert_eq!(command.workload(), (threads, expected), "{line}");
        assert_eq!(command.runs, Duration::from_secs(seconds), "{line}");
        assert_eq!(command.direct, direct, "{line}");
        assert_eq!(command.write_through, through, "{line}");
        assert_eq!(command.create, Some(Bytes::new(made)), "{line}");
    }
}

#[test]
fn defaults_are_those_of_diskspd() {
    let command = read("testfile.dat");
    assert_eq!(command.block.get(), 64 << 10);
    assert_eq!((command.threads, command.outstanding), (1, 2));
    assert_eq!(command.order, Order::Sequential);
    assert_eq!(command.writes, Percent::NONE);
    assert_eq!(command.runs, Duration::from_secs(10));
    assert_eq!(command.warm_up, Duration::from_secs(5));
    assert_eq!(command.seed, Some(0));
    assert!(!command.direct && !command.write_through && !command.latency);
    assert_eq!(read("-z x").seed, None);
    assert_eq!(read("-z7 x").seed, Some(7));
    assert!(read("-S x").direct);
    assert!(read("-Rxml x").xml && !read("-Rtext x").xml);
    assert!(read("-Swu x").write_through);
}

#[test]
fn switches_that_are_not_done_are_refused_by_name() {
    let cases = [
        ("-a0,1 x", "`-a0,1`"),
        ("-ag0,0,1 x", "`-ag0,0,1`"),
        ("-C5 x", "`-C5`"),
        ("-D x", "`-D`"),
        ("-D100 x", "`-D100`"),
        ("-eDISK_IO x", "`-eDISK_IO`"),
        ("-frs x", "`-frs`"),
        ("-F8 x", "`-F8`"),
        ("-O8 x", "`-O8`"),
        ("-g100i x", "`-g100i`"),
        ("-i100 x", "`-i100`"),
        ("-j100 x", "`-j100`"),
        ("-I1 x", "`-I1`"),
        ("-l x", "`-l`"),
        ("-Nv x", "`-Nv`"),
        ("-p x", "`-p`"),
        ("-P x", "`-P`"),
        ("-Rcsv x", "`-Rcsv`"),
        ("-Rpxml x", "`-Rpxml`"),
        ("-Rtext -Rxml x", "`-Rxml`"),
        ("-Sr x", "`-Sr`"),
        ("-Sm x", "`-Sm`"),
        ("-Sbu x", "`-Sbu`"),
        ("-h -Sb x", "`-Sb`"),
        ("-T1M -t2 x", "`-T1M`"),
        ("-t2 -T1Q x", "`-T1Q`"),
        ("-b64K -s4K x", "`-s4K`"),
        ("-b64K -s128K -s256K x", "`-s256K`"),
        ("-b64K -si0 x", "`-si0`"),
        ("-x x", "`-x`"),
        ("-X x", "`-X`"),
        ("-ysStart x", "`-ysStart`"),
        ("-Z x", "`-Z`"),
        ("-Z1M,file x", "`-Z1M,file`"),
        ("-rs50 x", "`-rs50`"),
        ("-rdpct90/10 x", "`-rdpct90/10`"),
        ("-b8K -r4K x", "`-r4K`"),
        ("-r -s x", "`-s`"),
        ("-t0 x", "`-t0`"),
        ("-o0 x", "`-o0`"),
        ("-w101 x", "`-w101`"),
        ("-b0 x", "`-b0`"),
        ("-b1G x", "`-b1G`"),
        ("-b4b x", "`-b4b`"),
        ("-c1X x", "`-c1X`"),
        ("-c x", "`-c`"),
        ("-c99999999999G x", "`-c99999999999G`"),
        ("-t2 -t4 x", "`-t4`"),
        ("-Lx x", "`-Lx`"),
        ("-? x", "`-?`"),
        ("-1 x", "`-1`"),
        ("-d10", "0 targets"),
        ("-d10 #1", "`#1`"),
        ("-d10 E:", "`E:`"),
        ("x -d10", "`-d10`"),
    ];
    for (line, what) in cases {
        let refused = parse(&words(line)).expect_err(line);
        assert_eq!(refused.what, what, "{line}: {refused}");
    }
}

#[test]
fn strides() {
    let asked = |line: &str| {
        let (threads, workload) = read(line).workload();
        (threads, workload.pattern, workload.outstanding)
    };
    let strided = |bytes| Pattern::Strided(Unit::new(bytes).expect("not zero"));
    assert_eq!(asked("-b8K -s64K -t2 -o4 x"), (2, strided(65_536), 4));
    assert_eq!(asked("-b8K -si3b -t2 -o4 x"), (1, strided(24_576), 8));
    assert_eq!(asked("-b8K -s8K x"), (1, Pattern::Sequential, 2));
    // "only applies with #threads > 1".
    assert_eq!(asked("-b8K -T1M x"), (1, Pattern::Sequential, 2));
    assert_eq!(asked("-b8K -t2 -T0 x"), (2, Pattern::Sequential, 2));
}

#[test]
fn regions() {
    let region = |line: &str, size| {
        let region = read(line).region(Bytes::new(size));
        region.map(|r| (r.base.get(), r.len.get())).ok()
    };
    let mib = 1 << 20;
    assert_eq!(region("-b8K x", mib), Some((0, mib)));
    assert_eq!(region("-b8K -B10b x", mib), Some((81_920, mib - 81_920)));
    assert_eq!(region("-b8K -B32256 x", mib), Some((32_256, mib - 32_256)));
    assert_eq!(region("-b8K -f512K x", mib), Some((0, 524_288)));
    assert_eq!(region("-b8K -B64K:128K x", mib), Some((65_536, 131_072)));
    assert_eq!(region("-b8K -B64K -f64K x", mib), None);
    assert_eq!(region("-b8K x", 8191), None);
}

proptest! {
    #[test]
    fn no_command_line_panics(arguments in proptest::collection::vec("[-/]?[a-zA-Z?#]?\\PC{0,8}", 0..8)) {
        if let Ok(command) = parse(&arguments) {
            let (threads, workload) = command.workload();
            prop_assert!(threads > 0 && workload.concurrency() > 0);
            let _ = command.region(Bytes::mib(64));
        }
    }

    #[test]
    fn what_fits_is_inside(block in 1_u64..2048, base in 0_u64..(1 << 30), limit in 0_u64..(1 << 30), size in 1_u64..(1 << 30)) {
        let command = read(&format!("-b{block}K -B{base} -f{limit} x"));
        if let Ok(region) = command.region(Bytes::new(size)) {
            prop_assert!(region.base.get() + region.len.get() <= size.min(limit));
            prop_assert!(region.len.get() >= block << 10);
        } else {
            prop_assert!(size.min(limit) < base + (block << 10));
        }
    }
}
