use super::*;
use proptest::prelude::*;

/// A profile around elements of its target and of its span of time.
fn document(target: &str, span: &str, profile: &str) -> String {
    format!(
        "<Profile>\n  {profile}\n  <TimeSpans>\n    <TimeSpan>\n      {span}\n      <Targets>\n        <Target>\n          <Path>a.dat</Path>\n          {target}\n        </Target>\n      </Targets>\n    </TimeSpan>\n  </TimeSpans>\n</Profile>\n"
    )
}

/// As diskspd 2.1 writes it for a command line, with figures of our own.
const WHOLE: &str = r"<Profile>
  <Progress>0</Progress>
  <ResultFormat>text</ResultFormat>
  <Verbose>false</Verbose>
  <TimeSpans>
    <TimeSpan>
      <CompletionRoutines>false</CompletionRoutines>
      <MeasureLatency>true</MeasureLatency>
      <CalculateIopsStdDev>false</CalculateIopsStdDev>
      <DisableAffinity>false</DisableAffinity>
      <Duration>20</Duration>
      <Warmup>3</Warmup>
      <Cooldown>0</Cooldown>
      <ThreadCount>0</ThreadCount>
      <RequestCount>0</RequestCount>
      <IoBucketDuration>1000</IoBucketDuration>
      <RandSeed>7</RandSeed>
      <Targets>
        <Target>
          <Path>a &amp; b.dat</Path>
          <BlockSize>8192</BlockSize>
          <BaseFileOffset>32256</BaseFileOffset>
          <SequentialScan>false</SequentialScan>
          <RandomAccess>false</RandomAccess>
          <TemporaryFile>false</TemporaryFile>
          <UseLargePages>false</UseLargePages>
          <DisableOSCache>true</DisableOSCache>
          <WriteThrough>true</WriteThrough>
          <WriteBufferContent>
            <Pattern>random</Pattern>
            <RandomDataSource>
              <SizeInBytes>1048576</SizeInBytes>
            </RandomDataSource>
          </WriteBufferContent>
          <ParallelAsyncIO>false</ParallelAsyncIO>
          <FileSize>67108864</FileSize>
          <Random>8192</Random>
          <ThreadStride>0</ThreadStride>
          <MaxFileSize>0</MaxFileSize>
          <RequestCount>16</RequestCount>
          <WriteRatio>30</WriteRatio>
          <Throughput>0</Throughput>
          <ThreadsPerFile>4</ThreadsPerFile>
          <IOPriority>3</IOPriority>
          <Weight>1</Weight>
        </Target>
      </Targets>
    </TimeSpan>
  </TimeSpans>
</Profile>
";

#[test]
fn a_profile_means_what_its_switches_mean() {
    let read = parse_profile(&["-Xoltp.xml"], WHOLE).expect("a profile");
    let typed = [
        "-L",
        "-d20",
        "-W3",
        "-C0",
        "-z7",
        "-b8192",
        "-B32256",
        "-Su",
        "-Sw",
        "-Z1M",
        "-c64M",
        "-r8192",
        "-o16",
        "-w30",
        "-t4",
        "-I3",
        "-Rtext",
        "a & b.dat",
    ];
    assert_eq!(read, parse(&typed).expect("switches"));
    // What is typed counts.
    let read = parse_profile(&["-d5", "-W1", "-z9", "-v", "-Xoltp.xml"], WHOLE).expect("typed");
    assert_eq!((read.runs.as_secs(), read.warm_up.as_secs()), (5, 1));
    assert_eq!((read.seed, read.verbose), (Some(9), true));
    // The results of a run have it in them.
    let results = format!(
        "<Results><System><ComputerName>x</ComputerName></System>{WHOLE}<TimeSpan><TestTimeSeconds>20.01</TestTimeSeconds></TimeSpan></Results>"
    );
    assert_eq!(
        parse_profile(&["-Xold.xml"], &results),
        parse_profile(&["-Xoltp.xml"], WHOLE)
    );
    assert_eq!(profile(&["-b8K", "/Xa.xml"]), Some("a.xml"));
    assert_eq!(profile(&["-b8K", "a.dat"]), None);
}

#[test]
fn targets_are_filled_in() {
    let two = WHOLE.replace("a &amp; b.dat", "*1");
    let target = &two[two.find("<Target>").expect("one")..two.find("</Targets>").expect("one")];
    let two = two.replace(target, &format!("{target}{}", target.replace("*1", "*2")));
    let read = parse_profile(&["-Xt.xml", "x.dat", "y.dat"], &two).expect("two files");
    assert_eq!(read.targets, ["x.dat", "y.dat"]);
    let refused = parse_profile(&["-Xt.xml", "x.dat"], &two).expect_err("one file");
    assert_eq!(refused.what, "<Path>*2</Path>");
    let refused = parse_profile(&["-Xt.xml", "x.dat"], WHOLE).expect_err("none is wanted");
    assert_eq!(refused.what, "`x.dat` beside -X");
    let unlike = two.replacen("<WriteRatio>30", "<WriteRatio>40", 1);
    let refused = parse_profile(&["-Xt.xml", "x.dat", "y.dat"], &unlike).expect_err("unlike");
    assert_eq!(refused.what, "<Target>");
}

#[test]
fn elements_come_to_switches_or_are_named() {
    let cases = [
        // Of a target, of the span, of the profile; what is blamed, or nothing.
        (
            "<StrideSize>65536</StrideSize><BlockSize>8192</BlockSize>",
            "",
            "",
            None,
        ),
        (
            "<InterlockedSequential>true</InterlockedSequential>",
            "",
            "",
            None,
        ),
        (
            "<WriteBufferContent><Pattern>sequential</Pattern></WriteBufferContent>",
            "",
            "",
            None,
        ),
        (
            "<WriteBufferContent><Pattern>random</Pattern></WriteBufferContent>",
            "",
            "",
            None,
        ),
        (
            "<WriteBufferContent><Pattern>zero</Pattern></WriteBufferContent>",
            "",
            "",
            Some("<Pattern>zero</Pattern>"),
        ),
        (
            "",
            "<ThreadCount>8</ThreadCount>",
            "",
            Some("<ThreadCount>8</ThreadCount>"),
        ),
        (
            "",
            "<CompletionRoutines>true</CompletionRoutines>",
            "",
            Some("<CompletionRoutines>true</CompletionRoutines>"),
        ),
        (
            "",
            "<Cooldown>5</Cooldown>",
            "",
            Some("<Cooldown>5</Cooldown>"),
        ),
        (
            "",
            "<CalculateIopsStdDev>true</CalculateIopsStdDev>",
            "",
            Some("<CalculateIopsStdDev>true</CalculateIopsStdDev>"),
        ),
        (
            "",
            "<Affinity><AffinityAssignment>0</AffinityAssignment></Affinity>",
            "",
            Some("<AffinityAssignment>0</AffinityAssignment>"),
        ),
        (
            "",
            "",
            "<ETW><Process>true</Process></ETW>",
            Some("<Process>true</Process>"),
        ),
        ("", "", "<ETW><Process>false</Process></ETW>", None),
        ("", "", "<ResultFormat>xml</ResultFormat>", None),
        (
            "",
            "",
            "<Progress>1000</Progress>",
            Some("<Progress>1000</Progress>"),
        ),
        (
            "<Random>4096</Random>",
            "",
            "",
            Some("<Random>4096</Random>"),
        ),
        (
            "<IOPriority>1</IOPriority>",
            "",
            "",
            Some("<IOPriority>1</IOPriority>"),
        ),
        (
            "<BurstSize>10</BurstSize>",
            "",
            "",
            Some("<BurstSize>10</BurstSize>"),
        ),
        (
            "<Throughput>100</Throughput>",
            "",
            "",
            Some("<Throughput>100</Throughput>"),
        ),
        (
            "<DisableLocalCache>true</DisableLocalCache>",
            "",
            "",
            Some("<DisableLocalCache>true</DisableLocalCache>"),
        ),
        ("<BlockSize>8K</BlockSize>", "", "", None),
        (
            "<BlockSize>big</BlockSize>",
            "",
            "",
            Some("<BlockSize>big</BlockSize>"),
        ),
        (
            "<Blocksize>8192</Blocksize>",
            "",
            "",
            Some("<Blocksize>8192</Blocksize>"),
        ),
        (
            "<Distribution><Absolute><Range IO=\"10\">1</Range></Absolute></Distribution>",
            "",
            "",
            Some("<Range>1</Range>"),
        ),
        (
            "<Path>&unknown;</Path>",
            "",
            "",
            Some("line 10 of the profile"),
        ),
        (
            "<WriteRatio>30</WriteRatio",
            "",
            "",
            Some("line 10 of the profile"),
        ),
    ];
    let mut wrong = String::new();
    for (target, span, profile, blamed) in cases {
        let read = parse_profile(&["-Xp.xml"], &document(target, span, profile));
        let found = read.as_ref().err().map(|refused| refused.what.as_str());
        let is_right = match blamed {
            Some(blamed) if blamed.starts_with("line") => {
                found.is_some_and(|f| f.starts_with("line "))
            }
            blamed => found == blamed,
        };
        if !is_right {
            wrong.push_str(&format!("{target}{span}{profile}: {read:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let two = document("", "", "").replace("</TimeSpan>", "</TimeSpan><TimeSpan></TimeSpan>");
    for (text, what) in [
        (two.as_str(), "<TimeSpan>"),
        ("<Results></Results>", "the profile"),
        ("", "the profile"),
        ("not XML at all", "the profile"),
        ("<Profile><TimeSpans>", "line 1 of the profile"),
    ] {
        let refused = parse_profile(&["-Xp.xml"], text).expect_err(text);
        assert_eq!(refused.what, what, "{text}: {refused}");
    }
    let refused = parse_profile(&["-Xp.xml", "-t4"], WHOLE).expect_err("a switch more");
    assert_eq!(refused.what, "`-t4`");
}

#[test]
fn documents_are_bounded() {
    let deep = "<Profile>".repeat(100);
    let long = format!(
        "<Profile>{}</Profile>",
        "<Targets/>".repeat(MAX_ELEMENTS + 1)
    );
    for text in [deep, long] {
        let refused = parse_profile(&["-Xp.xml"], &text).expect_err("too much");
        assert_eq!(refused.why, "more elements than a profile has");
    }
}

proptest! {
    #[test]
    fn no_profile_panics(text in "(<[/!?]?(Profile|TimeSpans|TimeSpan|Targets|Target|Path|BlockSize|x)?[/>]?\\PC{0,6}){0,20}") {
        let _ = parse_profile(&["-Xp.xml"], &text);
    }
}
