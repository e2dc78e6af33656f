use proptest::prelude::*;

use super::*;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn read(line: &str) -> Command {
    parse(&words(line)).unwrap_or_else(|refused| panic!("{line}: {refused}"))
}

/// SQLIO's table with rows of so many KB.
fn columns(kilobytes: u64) -> Pattern {
    Pattern::Columns(Unit::new(kilobytes << 10).expect("not zero"))
}

/// Command lines from published scripts and articles: what is asked of the storage.
#[test]
fn published_command_lines() {
    // Kind, seconds, pattern, KB, workers, outstanding of each.
    let cases = [
        // SQLIO's articles and batch files, with parameter files of 2 threads.
        (
            "-kR -s120 -frandom -o8 -b8 -LS -Fparam.txt",
            (true, 120, Pattern::Random, 8, 2, 8),
        ),
        (
            "-kW -s300 -frandom -o32 -b4 -LS -Fparam.txt",
            (false, 300, Pattern::Random, 4, 2, 32),
        ),
        (
            "-kW -s360 -fsequential -o8 -b64 -LS -Fparam.txt",
            (false, 360, Pattern::Sequential, 64, 1, 16),
        ),
        (
            "-kW -t2 -s30 -o1 -frandom -b8 -BH -LS -Fparam.txt",
            (false, 30, Pattern::Random, 8, 2, 1),
        ),
        (
            "-kW -s30 -frandom -o256 -b64 -LS -Fparam.txt",
            (false, 30, Pattern::Random, 64, 2, 256),
        ),
        (
            "-kR -s30 -frandom -o0 -b64 -LS -Fparam.txt",
            (true, 30, Pattern::Random, 64, 2, 1),
        ),
        (
            "-kR -s60 -frandom -o8 -t8 -b8 -LS -FParam.txt",
            (true, 60, Pattern::Random, 8, 2, 8),
        ),
        (
            "-kW -s10 -fsequential -o8 -b64 -Fparam.txt",
            (false, 10, Pattern::Sequential, 64, 1, 16),
        ),
        (
            "-kW -s60 -frandom -o1 -b1 -LS -BN -Fparams.txt",
            (false, 60, Pattern::Random, 1, 2, 1),
        ),
        // The same with the file on the command line.
        (
            r"-kW -t8 -s120 -o8 -frandom -b8 -BH -LS E:\TestFile.dat",
            (false, 120, Pattern::Random, 8, 8, 8),
        ),
        (
            r"-kR -t8 -s60 -o8 -frandom -b256 -BH -LS D:\testfile.dat",
            (true, 60, Pattern::Random, 256, 8, 8),
        ),
        (
            "-kW -t32 -s30 -o128 -fsequential -b8 -BH -LS Testfile.dat",
            (false, 30, Pattern::Sequential, 8, 1, 4096),
        ),
        (
            "-kR -s300 -b64 -f1 -i2000000 -o1 -t1 -LP -BN x",
            (true, 300, Pattern::Sequential, 64, 1, 1),
        ),
        // The other ways to write switches.
        (
            "/kR /s120 /frandom /o8 /b8 /LS /Fparam.txt",
            (true, 120, Pattern::Random, 8, 2, 8),
        ),
        (
            "-k R -s 120 -f random -o 8 -b 8 -L S -F param.txt",
            (true, 120, Pattern::Random, 8, 2, 8),
        ),
        // SQLIO's defaults: rows of 64 blocks.
        ("-frandom", (true, 30, Pattern::Random, 2, 1, 1)),
        ("", (true, 30, columns(128), 2, 1, 1)),
        ("-kR -t16 -s600 -b64", (true, 600, columns(4096), 64, 16, 1)),
        (
            "-kW -f32 -t2 -o8 -Fparam.txt",
            (false, 30, columns(64), 2, 2, 8),
        ),
    ];
    for (line, (reads, seconds, pattern, kilobytes, workers, outstanding)) in cases {
        let mut command = read(line);
        if command.parameter_file.is_some() {
            command = command
                .with_parameters(if line.contains("-f32") {
                    "c:\\testfile.dat 2\n"
                } else {
                    "c:\\testfile.dat 2 0x0 100\n#d:\\testfile.dat 2 0x0 100\n"
                })
                .unwrap_or_else(|refused| panic!("{line}: {refused}"));
        }
        let workload = command.workload(command.files[0].threads);
        let expected = Workload {
            reads: if reads { Percent::ALL } else { Percent::NONE },
            pattern,
            sizes: vec![(Unit::new(kilobytes << 10).expect("not zero"), 1)],
            workers,
            outstanding,
            think: Duration::ZERO,
            rate: None,
        };
        assert_eq!(workload, expected, "{line}");
        assert_eq!(command.runs, Duration::from_secs(seconds), "{line}");
    }
}

#[test]
fn switches_that_are_not_done_are_refused_by_name() {
    let cases = [
        ("-kR -s300 -frandom -b64 -R1", "`-R1`"),
        ("-kR -frandom -a0xf", "`-a0xf`"),
        ("-kR -frandom -aR0xf", "`-aR0xf`"),
        ("-kR -frandom -p0", "`-p0`"),
        ("-kR -frandom -pI0", "`-pI0`"),
        ("-kR -frandom -mC4", "`-mC4`"),
        ("-kR -frandom -mS2", "`-mS2`"),
        ("-kR -frandom -U", "`-U`"),
        ("-kR -frandom -Up", "`-Up`"),
        ("-kR -frandom -v1.1.1", "`-v1.1.1`"),
        ("-kR -frandom -dE Testfile.dat", "`-dE`"),
        ("-kR -frandom -dEFG", "`-dEFG`"),
        ("-kR -frandom -d E x", "`-d E`"),
        ("-kR -frandom -d9", "`-d9`"),
        ("-kR -frandom -LSi", "`-LSi`"),
        ("-kR -frandom -D50", "`-D50`"),
        ("-kR -f0", "`-f0`"),
        ("-kR -t3", "`-f64` with 3 threads"),
        ("-kR -f8 -t16", "`-f8` with 16 threads"),
        ("-kR -frandom E:", "`E:`"),
        ("-kR -frandom 9:", "`9:`"),
        ("-kX -frandom", "`-kX`"),
        ("-kR -frandom -t0", "`-t0`"),
        ("-kR -frandom -t257", "`-t257`"),
        ("-kR -frandom -b0", "`-b0`"),
        ("-kR -frandom -s0", "`-s0`"),
        ("-kR -frandom -b8K", "`-b8K`"),
        ("-kR -frandom -sequential", "`-sequential`"),
        ("-kR -frandom -kW", "`-kW`"),
        ("-kR -f", "`-f `"),
        (
            "-kR -frandom -Fparam.txt testfile.dat",
            "`testfile.dat` beside -F",
        ),
        ("-kR -frandom a b", "2 files without -o"),
        ("-kR -f1 -t2", "`-f1` with 2 threads"),
        ("-kR -frandom -Q", "`-Q`"),
        ("-kR -frandom \u{2013}BN", "`\u{2013}BN`"),
    ];
    for (line, what) in cases {
        let refused = parse(&words(line)).expect_err(line);
        assert_eq!(refused.what, what, "{line}: {refused}");
    }
}

#[test]
fn letters_of_drives_are_answered_with_what_to_type() {
    for (line, instead) in [
        (
            "-kR -frandom -dEFG",
            r"type -o1 E:\testfile.dat F:\testfile.dat G:\testfile.dat in its place",
        ),
        (
            r"-kR -frandom -o8 -dEF \test.dat",
            r"type E:\test.dat F:\test.dat in its place",
        ),
        (
            "-kR -frandom -dE test.dat",
            r"type E:\test.dat in its place",
        ),
        (
            "-kR -frandom -d EF -Fparam.txt",
            "write each file in full into param.txt",
        ),
    ] {
        let refused = parse(&words(line)).expect_err(line);
        assert!(refused.instead.contains(instead), "{line}: {refused}");
    }
}

#[test]
fn parameter_files() {
    let file = |name: &str, threads, size: Option<u64>| File {
        name: name.to_owned(),
        threads,
        size: size.map(Bytes::mib),
    };
    let text = "\u{feff}# two files\r\nc:\\testfile.dat 2 0x0 100\r\n\r\n  \"d:\\my data\\x.dat\" 16 0 20000 # big\r\n/mnt/a 1\r\n";
    assert_eq!(
        parameters(text),
        Ok(vec![
            file(r"c:\testfile.dat", 2, Some(100)),
            file(r"d:\my data\x.dat", 16, Some(20_000)),
            file("/mnt/a", 1, None),
        ])
    );
    let cases = [
        ("", "it names 0 files"),
        ("# none\n", "it names 0 files"),
        ("a", "says nothing of threads"),
        ("a 0", "`0` is not a whole number from 1 to 256"),
        ("a 2 0x3 100", "not bound to processors"),
        ("a 2 zero 100", "neither decimal nor hexadecimal"),
        ("a 2 0x0 0", "`0` is not a whole number"),
        ("a b 2 0x0 100", "`b` is not a whole number"),
        ("a 2 0x0 100 200", "nothing follows the size"),
        ("E: 2 0x0 100", "it names a raw device"),
        ("\"a 2", "a quotation mark"),
    ];
    for (text, why) in cases {
        let refused = parameters(text).expect_err(text);
        assert!(refused.why.contains(why), "{text}: {refused}");
    }
}

#[test]
fn regions() {
    let mib = Bytes::mib(1);
    let region = |line: &str| read(line).region(mib).map(|r| (r.base.get(), r.len.get()));
    assert_eq!(region("-frandom -b64"), Ok((0, 1 << 20)));
    assert_eq!(region("-frandom -b64 -S1"), Ok((65_536, 983_040)));
    assert_eq!(region("-f1 -i4 -b64"), Ok((0, 262_144)));
    assert_eq!(region("-frandom -b64 -S15"), Ok((983_040, 65_536)));
    assert!(region("-frandom -b64 -S16").is_err());
    assert!(region("-f1 -b64").is_err());
    assert_eq!(read("-f1 -b64").least_size(), Bytes::mib(4));
    // "the default options of -i64 -f64 -b2 touches 8MB".
    assert_eq!(read("").least_size(), Bytes::mib(8));
    assert!(region("").is_err());
    assert_eq!(region("-f8 -i4 -S2"), Ok((4096, 65_536)));
    let refused = region("-b64 -f8 -i4").expect_err("2 MiB");
    assert_eq!(refused.what, "-b64 -S0 -f8 -i4");
    assert!(region("-f4294967296 -i1099511627776").is_err());
    assert!(read("-f8").expands() && !read("-frandom").expands());
}

#[test]
fn caches() {
    let caches = |line| {
        let buffering = read(line).buffering;
        (buffering.is_direct(), buffering.is_write_through())
    };
    assert_eq!(caches("-frandom"), (true, true));
    assert_eq!(caches("-frandom -BN"), (true, true));
    assert_eq!(caches("-frandom -BH"), (true, false));
    assert_eq!(caches("-frandom -BS"), (false, true));
    assert_eq!(caches("-frandom -BY"), (false, false));
}

proptest! {
    #[test]
    fn no_command_line_panics(arguments in proptest::collection::vec("[-/]?[kstfobiBLSFRdmpaUv6D]?\\PC{0,8}", 0..8)) {
        if let Ok(command) = parse(&arguments) {
            for file in &command.files {
                let workload = command.workload(file.threads);
                prop_assert!(workload.concurrency() > 0);
            }
            if let Ok(region) = command.region(command.least_size()) {
                prop_assert!(region.base.get() + region.len.get() <= command.least_size().get());
            }
        }
    }

    #[test]
    fn no_parameter_file_panics(text in "(\\PC{0,12}[ \t\n\"#0x1-9]{0,3}){0,8}") {
        if let Ok(files) = parameters(&text) {
            prop_assert!(files.iter().all(|file| file.threads > 0));
        }
    }

    #[test]
    fn what_fits_is_inside(block in 1_u64..2048, start in 0_u64..100, size in 1_u64..(1 << 30)) {
        let command = read(&format!("-frandom -b{block} -S{start}"));
        if let Ok(region) = command.region(Bytes::new(size)) {
            prop_assert!(region.base.get() + region.len.get() <= size);
            prop_assert!(region.len.get() >= block << 10);
            prop_assert!(command.least_size().get() <= size);
        } else {
            prop_assert!(command.least_size().get() > size);
        }
    }
}
