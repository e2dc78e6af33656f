use super::*;
use crate::captured::text::Text;

fn rows(text: &str) -> (Vec<Vec<(String, String)>>, usize) {
    let text = Text::new(text.as_bytes(), false);
    let (records, taken) = from_table(&[], &text.lines(), |_| true).expect("a table");
    let pairs = |record: &Record<'_>| {
        let fields = record.fields.iter();
        fields
            .map(|f| (f.key.to_string(), f.value.to_string()))
            .collect()
    };
    (records.iter().map(pairs).collect(), taken)
}

fn values(row: &[(String, String)]) -> Vec<&str> {
    row.iter().map(|(_, value)| value.as_str()).collect()
}

#[test]
fn numbers_lie_left_of_their_names_and_text_right() {
    let (rows, taken) = rows(
        "   DiskPath: \\\\?\\scsi#disk\n\n\
         PartitionNumber  DriveLetter Offset                                        Size Type\n\
         ---------------  ----------- ------                                        ---- ----\n\
         1                           1048576                                     350 MB IFS\n\
         2                C           368050176                                 39.66 GB IFS\n\nend",
    );
    assert_eq!(taken, 6);
    assert_eq!(rows[0][0], ("DiskPath".into(), "\\\\?\\scsi#disk".into()));
    assert_eq!(values(&rows[0][1..]), ["1", "", "1048576", "350 MB", "IFS"]);
    assert_eq!(
        values(&rows[1][1..]),
        ["2", "C", "368050176", "39.66 GB", "IFS"]
    );
}

#[test]
fn names_of_two_lines_and_columns_that_touch() {
    let (rows, _) = rows(
        "Number Friendly Name Serial Number                    HealthStatus         OperationalStatus      Total Size Partition\n\
         \x20                                                                                                            Style\n\
         ------ ------------- -------------                    ------------         -----------------      ---------- ----------\n\
         0      Samsung SS... S21NNXAG123456                   Healthy              Online                  476.94 GB GPT\n",
    );
    let (names, row): (Vec<_>, Vec<_>) = rows[0].iter().map(|(k, v)| (&**k, &**v)).unzip();
    assert_eq!(
        names,
        [
            "Number",
            "FriendlyName",
            "SerialNumber",
            "HealthStatus",
            "OperationalStatus",
            "TotalSize",
            "PartitionStyle"
        ]
    );
    assert_eq!(
        row,
        [
            "0",
            "Samsung SS...",
            "S21NNXAG123456",
            "Healthy",
            "Online",
            "476.94 GB",
            "GPT"
        ]
    );
}

#[test]
fn a_text_and_a_number_one_blank_apart() {
    let (rows, _) = rows(
        "DeviceId FriendlyName        MediaType Usage            Size\n\
         -------- ------------        --------- -----            ----\n\
         0        WDC WD4003FZEX-00Z4 HDD       Auto-Select   3.64 TB\n\
         10       INTEL SSDSC2BB480G6 SSD       Auto-Select 447.13 GB\n",
    );
    assert_eq!(
        values(&rows[0]),
        ["0", "WDC WD4003FZEX-00Z4", "HDD", "Auto-Select", "3.64 TB"]
    );
    assert_eq!(
        values(&rows[1]),
        [
            "10",
            "INTEL SSDSC2BB480G6",
            "SSD",
            "Auto-Select",
            "447.13 GB"
        ]
    );
}

#[test]
fn cells_that_were_wrapped_are_one_again() {
    let (rows, _) = rows(
        "Number Path        Model\n\
         ------ ----        -----\n\
         0      \\\\?\\scsi#di Virtual\n\
         \x20      sk&ven\n\
         1      \\\\?\\x       Other\n",
    );
    assert_eq!(values(&rows[0]), ["0", "\\\\?\\scsi#disk&ven", "Virtual"]);
    assert_eq!(values(&rows[1]), ["1", "\\\\?\\x", "Other"]);
}

#[test]
fn what_a_table_is_about_may_stand_above_it_in_any_dress() {
    for above in [
        "Disk Number: 2\n\n",
        "<#   Disk Number: 2\n\n",
        "> DiskNumber:2\n",
    ] {
        let all = format!(
            "{above}PartitionNumber  Offset\n---------------  ------\n1                32256\n"
        );
        let text = Text::new(all.as_bytes(), false);
        let lines = text.lines();
        let at = lines
            .iter()
            .position(|l| l.text.starts_with("Part"))
            .expect("a name");
        let (records, _) = from_table(&lines[..at], &lines[at..], |_| true).expect("a table");
        assert_eq!(
            records[0].number("DiskNumber").map(|(n, _)| n),
            Some(2),
            "{above}"
        );
    }
    let text = Text::new(b"Note: 2\n\nA  B\n-  --\n1  2\n", false);
    let lines = text.lines();
    let (records, _) = from_table(&lines[..2], &lines[2..], |_| true).expect("a table");
    assert_eq!(records[0].fields.len(), 2);
}

#[test]
fn prose_above_a_table_is_none_of_its_names() {
    let text = "one of our boxes\nNumber Size\n------ ----\n     0  512\n";
    let text = Text::new(text.as_bytes(), false);
    let lines = text.lines();
    assert!(from_table(&[], &lines, |_| true).is_none());
    let (records, _) = from_table(&lines[..1], &lines[1..], |_| true).expect("a table");
    assert_eq!(records[0].number("Number").map(|(n, _)| n), Some(0));
}

#[test]
fn prose_below_shifted_rows_does_not_shift_them() {
    let text = "DiskNumber Number  Offset      Size\n---------- ------  ------      ----\n2          1   17408  104857600\n\
                3          1  1048576  100020309\nany idea why?\n";
    let shifted = text.replace(
        "2          1   17408  104857600",
        "2               1   17408  104857600",
    );
    let (rows, _) = rows(&shifted);
    assert_eq!(rows[0][2].1, "17408");
}

#[test]
fn prose_below_a_table_is_no_row() {
    let text = "Number  Size\n------  ----\n     0   512\nso all is at 1 MiB?\n";
    let (first, taken) = rows(text);
    assert_eq!((first.len(), taken), (1, 4));
    let text =
        "Name     StartingOffset\n----     --------------\nDisk #0            512\nAny idea why?\n";
    let (second, taken) = rows(text);
    assert_eq!((second.len(), taken), (1, 4));
}

#[test]
fn tables_whose_names_are_missing_are_noticed() {
    let line = |text| Line { number: 1, text };
    let dashes = line("---------------  ----------- ------   ----");
    let names = line("PartitionNumber  DriveLetter Offset   Size");
    let half = line("PartitionNumber");
    assert!(!lacks_names(Some(&names), &dashes));
    assert!(lacks_names(Some(&half), &dashes));
    assert!(lacks_names(None, &dashes) && lacks_names(Some(&line("")), &dashes));
    assert!(!lacks_names(None, &line("---------------")));
}

#[test]
fn lines_of_dashes_alone_are_no_table() {
    let none = |text: &str| {
        let text = Text::new(text.as_bytes(), false);
        from_table(&[], &text.lines(), |_| true).is_none()
    };
    assert!(none("---- ----\n"));
    assert!(none("title\n-----\n"));
    assert!(none("   Key: value\nother\n"));
    assert!(none(""));
}
