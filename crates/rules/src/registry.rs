//! All rules, in the order of their codes.

use crate::rules::{self, table};
use crate::{Code, Context, Finding, Folklore, Rule, Status};

macro_rules! list {
    ($($number:literal $code:ident = $family:ident::$rule:ident,)*) => {
        /// All rules, in the order of their codes.
        pub static RULES: &[&Rule] = &[$(&rules::$family::$rule::RULE),*];

        /// Each line of the table, as it is written.
        #[cfg(test)]
        const LINES: &[(Code, &str, &str, &str)] = &[
            $((crate::codes::$code, stringify!($code), stringify!($family), stringify!($rule))),*
        ];
    };
}

table!(list);

/// Pages about beliefs, without a rule.
pub static FOLKLORE: &[Folklore] = crate::folklore::PAGES;

/// The rule with this code.
#[must_use]
pub fn by_code(code: Code) -> Option<&'static Rule> {
    let at = RULES.binary_search_by_key(&code, |rule| rule.code).ok()?;
    RULES.get(at).copied()
}

/// Applies all rules to a stack; worst first, then in the order of layers and codes.
#[must_use]
pub fn check(context: &Context<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES.iter().filter(|rule| rule.status != Status::Removed) {
        (rule.check)(context, &mut findings);
    }
    findings.sort_by(|a, b| {
        let key = |f: &Finding| (f.severity, f.worst_price());
        key(b)
            .cmp(&key(a))
            .then_with(|| (a.layer, a.code).cmp(&(b.layer, b.code)))
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_names_are_kebab_case() {
        assert!(RULES.windows(2).all(|pair| pair[0].code < pair[1].code));
        for rule in RULES {
            assert!(
                rule.name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{}",
                rule.name
            );
            assert!(
                !rule.summary.ends_with('.') && !rule.summary.is_empty(),
                "{}",
                rule.code
            );
        }
    }

    #[test]
    fn a_rule_its_code_its_file_and_its_folder_have_one_name() {
        for ((code, name, family, file), rule) in LINES.iter().zip(RULES) {
            assert_eq!(rule.code, *code);
            assert_eq!(rule.name.replace('-', "_"), *file);
            assert_eq!(name.to_ascii_lowercase(), *file);
            let about = code.family().map(|family| format!("{family:?}"));
            assert_eq!(
                about.map(|about| about.to_ascii_lowercase()).as_deref(),
                Some(*family)
            );
        }
    }

    #[test]
    fn every_rule_has_a_repair_or_a_reason_why_there_is_none() {
        for rule in RULES {
            let (kinds, why) = (rule.repair.kinds(), rule.repair.why_left());
            assert!(
                !kinds.is_empty() || why.is_some_and(|why| why.len() > 20),
                "{}",
                rule.code
            );
        }
    }

    #[test]
    fn every_rule_has_a_whole_page() {
        for rule in RULES {
            for (heading, text) in rule.page.sections() {
                assert!(
                    text.len() > 40,
                    "{}: section `{heading}` says nothing",
                    rule.code
                );
            }
            assert!(
                !rule.page.references.is_empty(),
                "{}: no references",
                rule.code
            );
        }
    }
}
