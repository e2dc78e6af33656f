use super::*;

fn read(names: &str, ruler: Option<&str>, row: &str) -> Option<(f64, String)> {
    let mut head = Head::of(names).expect("columns");
    if let Some(ruler) = ruler {
        head = head.ruled(ruler);
    }
    let line = Line {
        number: 7,
        text: row,
    };
    let row = head.row(&line)?;
    let name = row.text(&["database_name"]).unwrap_or_default().to_owned();
    Some((row.number(&["reads"])?.0, name))
}

#[test]
fn one_row_is_read_in_all_dresses() {
    let expected = Some((12_345.0, "sales db".to_owned()));
    assert_eq!(
        read("Database Name\treads", None, "sales db\t12345"),
        expected
    );
    assert_eq!(
        read(
            "\"database_name\",\"reads\"",
            None,
            "\"sales db\",\"12,345\""
        ),
        expected
    );
    assert_eq!(
        read(
            " database_name | reads ",
            Some("---+---"),
            " sales db | 12345"
        ),
        expected
    );
    assert_eq!(
        read("| database_name | reads |", None, "| sales db | 12345 |"),
        expected
    );
    let ruled = read(
        "database_name  reads      ",
        Some("-------------- -----------"),
        "sales db             12345",
    );
    assert_eq!(ruled, expected);
    let unnamed = read(
        " database_name | reads | x ",
        Some("---+---+---"),
        " | 12345 |",
    );
    assert_eq!(unnamed, Some((12_345.0, String::new())));
    // Trimmed, so that the ruler does not fit.
    let trimmed = read(
        "database_name reads",
        Some("------------- -----"),
        "sales 12345678",
    );
    assert_eq!(trimmed, Some((12_345_678.0, "sales".to_owned())));
    assert_eq!(read("database_name\treads", None, "sales db"), None);
}

#[test]
fn cells_may_be_wider_than_a_ruler_that_is_as_wide_as_the_names() {
    for (row, value) in [
        ("E: of db 1      e:     12.5", 12.5),
        ("sales db on e:  e: 123456.75", 123_456.75),
        ("a               e:        7", 7.0),
    ] {
        let found = read(
            "Database_Name   Drive Reads",
            Some("-------------   ----- -----"),
            row,
        );
        let name = row.split("  ").next().unwrap_or_default().to_owned();
        assert_eq!(found, Some((value, name)), "{row}");
    }
}

#[test]
fn points_in_counts_stand_between_thousands() {
    for (text, value) in [
        ("655.360.000", Some(655_360_000.0)),
        ("10.000", Some(10_000.0)),
        ("10.5", None),
        ("10.0000", None),
        ("10000", None),
        (".000", None),
    ] {
        assert_eq!(count(text), value, "{text}");
    }
}

#[test]
fn nothing_is_no_number() {
    for cell in ["NULL", "", "-", "x"] {
        assert_eq!(
            read("database_name\treads", None, &format!("a\t{cell}")),
            None
        );
    }
}

/// Every text of up to six of these characters.
fn texts() -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..6 {
        let longer = |text: &String| ['a', ' ', '|', '│'].map(|c| format!("{text}{c}"));
        last = last.iter().flat_map(longer).collect();
        all.extend_from_slice(&last);
    }
    all
}

#[test]
fn ascii_is_cut_as_all_else_is() {
    let texts = texts();
    assert_eq!(texts.len(), 5461);
    for text in &texts {
        let found = cells(text, &Style::Bars { bordered: false });
        let cut: Vec<&str> = text.trim().split(BARS).map(str::trim).collect();
        assert_eq!(found, cut, "{text:?}");
        let begins = begins(text);
        for number in 0..8 {
            let begin = text.char_indices().nth(number);
            let begin = begin.map_or(text.len(), |(at, _)| at);
            assert_eq!(begins(number), begin, "{text:?} {number}");
        }
    }
}
