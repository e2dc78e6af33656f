//! What each of several hosts says, one after the other, below its name.

use std::collections::{HashMap, HashSet};

/// The lines that stand above what each of several hosts says.
pub(super) struct Titles<'t>(Vec<(&'t str, String)>);

impl<'t> Titles<'t> {
    pub(super) fn of(hosts: &[&'t str]) -> Titles<'t> {
        let mut titles: Vec<(&str, String)> = Vec::new();
        let mut known = HashSet::new();
        for host in hosts {
            if known.insert(*host) && !host.is_empty() {
                titles.push((*host, format!("### host: {host}")));
            }
        }
        Titles(titles)
    }

    /// The lines of one host after the other, and the number of each in the file.
    pub(super) fn grouped<'l>(
        &'l self,
        lines: &[&'l str],
        hosts: &[&str],
        of_lines: &[usize],
    ) -> (Vec<&'l str>, Vec<usize>) {
        let mut of: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, host) in hosts.iter().enumerate() {
            of.entry(*host).or_default().push(index);
        }
        let number = |index: &usize| of_lines.get(*index).copied().unwrap_or(1);
        // What was typed stands above what they say.
        let above = of.get("").map(Vec::as_slice).unwrap_or_default();
        let mut grouped: Vec<&str> = above.iter().map(|index| lines[*index]).collect();
        let mut numbers: Vec<usize> = above.iter().map(number).collect();
        for (host, title) in &self.0 {
            let own = of.get(host).map(Vec::as_slice).unwrap_or_default();
            let first = own.first().map_or(1, number);
            grouped.push(title.as_str());
            numbers.push(first);
            for index in own {
                grouped.push(lines[*index]);
                numbers.push(number(index));
            }
            grouped.push("");
            numbers.push(own.last().map_or(first, number));
        }
        (grouped, numbers)
    }
}
