//! Tables whose columns the user names.

use straddle_trace::{Options, TraceError};

use crate::captures::{Found, read};

fn with(map: &str, text: &str) -> Result<Found, TraceError> {
    let options = Options {
        columns: Some(map.parse().expect(map)),
        ..Options::default()
    };
    read(text.as_bytes(), "table.txt", &options)
}

#[test]
fn columns_by_number() {
    let text = "17,web,0,w,9,8\n18,web,1,r,10,1\n19,web,1,x,10,1\n";
    let found = with(
        "offset=5:4096,size=6:sectors,op=4,time=1:us,device=2+3",
        text,
    )
    .expect("a table");
    assert_eq!(
        found.text(),
        "format csv\n\
         recorded write 36864 4096 17000 web.0\n\
         recorded read 40960 512 18000 web.1\n\
         other 0\n\
         bad 3 31 Direction\n"
    );
}

#[test]
fn columns_by_name_in_a_heading() {
    let text = "Wann;Wo;Wieviel;Was\n1,5;63;4;Write\n";
    let found = with(
        "offset=wo:sectors,size=Wieviel:kib,op=was,time=Wann:ms",
        text,
    )
    .expect("a table");
    assert_eq!(
        found.text(),
        "format csv\nrecorded write 32256 4096 1500000 table\nother 1\n"
    );
}

#[test]
fn one_direction_for_all_and_blanks_between() {
    let text = "a b c\n  512   1024  x\n  4096  512  y\n";
    let found = with("offset=1,size=2,op=read", text).expect("a table");
    assert_eq!(
        found.text(),
        "format csv\nrecorded read 512 1024 - table\nrecorded read 4096 512 - table\nother 1\n"
    );
}

#[test]
fn a_filetime_is_counted_in_steps_of_100_ns() {
    let found = with("time=1:filetime,offset=2,size=3,op=write", "5\t512\t512\n").expect("a table");
    assert_eq!(
        found.text(),
        "format csv\nrecorded write 512 512 500 table\nother 0\n"
    );
}

#[test]
fn what_does_not_fit_is_told_with_what_was_found() {
    let text = "time,where,much\n1,2,3\n";
    for (map, says) in [
        (
            "offset=where,size=length,op=read",
            "table.txt: no column is called length; the first line has time, where, much",
        ),
        (
            "offset=2,size=9,op=read",
            "table.txt: column 9 is asked for, and the first line has 3: time, where, much",
        ),
        (
            "offset=2,size=3,op=2",
            "table.txt: no line is a request with these columns: in `1,2,3`, neither a read nor a write",
        ),
        (
            "offset=2,size=3,op=read,time=1",
            "table.txt: the time in column 1 has no unit, and may be anything: say s, ms, us, ns or filetime behind a colon",
        ),
    ] {
        let Err(error) = with(map, text) else {
            panic!("{map}");
        };
        assert_eq!(error.to_string(), says, "{map}");
    }
}
