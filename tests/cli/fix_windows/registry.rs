//! The format of `.reg` files, version 5.00, as far as the alignment values use it.

/// What is wrong with a file; empty when nothing is.
pub(crate) fn faults(text: &str) -> Vec<String> {
    const KEY: &str = "[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\VDS\\Alignment]";
    const NAMES: [&str; 4] = [
        "LessThan4GB",
        "Between4_8GB",
        "Between8_32GB",
        "GreaterThan32GB",
    ];
    let mut faults = Vec::new();
    if text.replace("\r\n", "").contains(['\r', '\n']) || !text.is_ascii() {
        faults.push(
            "regedit wants CR LF, and ASCII where there is no mark of another encoding".to_owned(),
        );
    }
    let mut lines = text.lines();
    if lines.next() != Some("Windows Registry Editor Version 5.00") || lines.next() != Some("") {
        faults.push("no heading with a blank line behind it".to_owned());
    }
    let mut in_key = false;
    let mut values = 0;
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with(';')) {
        if line.starts_with('[') {
            in_key = line == KEY;
            if !in_key {
                faults.push(format!("another key: {line}"));
            }
            continue;
        }
        let value = line.split_once("=dword:").and_then(|(name, digits)| {
            let name = name.strip_prefix('"')?.strip_suffix('"')?;
            let is_hex = digits.len() == 8 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            (NAMES.contains(&name) && is_hex).then_some(())
        });
        if value.is_none() || !in_key {
            faults.push(format!("no value of the key: {line}"));
        }
        values += 1;
    }
    if values == 0 {
        faults.push("it sets nothing".to_owned());
    }
    faults
}
