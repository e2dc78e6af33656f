//! The commands of diskpart and their parameters, as its documentation has them.

/// What is wrong with a script of diskpart; empty when nothing is.
pub(crate) fn faults(lines: &[String]) -> Vec<String> {
    let (mut disk, mut partition, mut faults) = (false, false, Vec::new());
    for line in lines {
        if let Err(why) = command(line, &mut disk, &mut partition) {
            faults.push(format!("{why}: {line}"));
        }
    }
    faults
}

fn command(line: &str, disk: &mut bool, partition: &mut bool) -> Result<(), String> {
    let words = words(line)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| format!("{text:?} is no number"))
    };
    let needs = |is: bool, what: &str| {
        if is {
            Ok(())
        } else {
            Err(format!("no {what} is selected"))
        }
    };
    match words.as_slice() {
        ["select", "disk", n] => {
            (*disk, *partition) = (true, false);
            number(n).map(drop)
        }
        ["select", "partition", n] => {
            needs(*disk, "disk")?;
            *partition = true;
            number(n).map(drop)
        }
        ["detail", "disk"] => needs(*disk, "disk"),
        ["remove", one] => {
            needs(*partition, "partition")?;
            named(&[one], &["mount"]).map(drop)
        }
        ["delete", "partition"] => {
            needs(*partition, "partition")?;
            *partition = false;
            Ok(())
        }
        ["create", "partition", "primary", rest @ ..] => {
            needs(*disk, "disk")?;
            *partition = true;
            named(rest, &["align", "offset", "size"]).and_then(|all| {
                if all.contains(&"align") && all.contains(&"offset") {
                    return Err("align and offset exclude each other here".to_owned());
                }
                rest.iter()
                    .try_for_each(|w| number(w.split_once('=').map_or("", |p| p.1)).map(drop))
            })
        }
        ["assign", rest @ ..] => {
            needs(*partition, "partition")?;
            named(rest, &["letter", "mount"])?;
            match rest {
                [] => Ok(()),
                [one] => match one.split_once('=') {
                    Some(("letter", letter)) if letter.len() == 1 => Ok(()),
                    Some(("mount", path)) if path.get(1..3) == Some(":\\") => Ok(()),
                    _ => Err("no letter and no folder".to_owned()),
                },
                _ => Err("a letter or a folder".to_owned()),
            }
        }
        ["gpt", one] => {
            needs(*partition, "partition")?;
            let digits = one.strip_prefix("attributes=0x").ok_or("no attributes")?;
            let is_hex = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
            if is_hex {
                Ok(())
            } else {
                Err("attributes have 16 digits".to_owned())
            }
        }
        ["format", rest @ ..] => {
            needs(*partition, "partition")?;
            let (pairs, flags): (Vec<&str>, Vec<&str>) =
                rest.iter().partition(|word| word.contains('='));
            named(&pairs, &["fs", "unit", "label"])?;
            if flags.iter().any(|flag| !["quick", "nowait"].contains(flag)) {
                return Err("a flag that format has not".to_owned());
            }
            for pair in pairs {
                match pair.split_once('=') {
                    Some(("fs", "ntfs" | "refs" | "exfat")) | Some(("label", _)) => {}
                    Some(("unit", unit)) => {
                        let bytes = match unit.strip_suffix('K') {
                            Some(kilo) => number(kilo)? << 10,
                            None => number(unit)?,
                        };
                        if !bytes.is_power_of_two() || !(512..=65_536).contains(&bytes) {
                            return Err("a unit that NTFS has not".to_owned());
                        }
                    }
                    _ => return Err(format!("{pair} is wrong")),
                }
            }
            Ok(())
        }
        _ => Err("no command of diskpart".to_owned()),
    }
}

/// The names of parameters, each known and there once.
fn named<'a>(words: &[&'a str], known: &[&str]) -> Result<Vec<&'a str>, String> {
    let mut all = Vec::new();
    for word in words {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word:?} has no value"))?;
        if !known.contains(&name) || all.contains(&name) || value.is_empty() {
            return Err(format!("{word:?} is no parameter here"));
        }
        all.push(name);
    }
    Ok(all)
}

/// Words at blanks, quotes taken off.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("one").push(c),
        }
    }
    if quoted {
        return Err("a quote is left open".to_owned());
    }
    Ok(words.into_iter().filter(|word| !word.is_empty()).collect())
}
