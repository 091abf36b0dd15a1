//! Which paths a pattern means: `*` stays in its folder, `**` does not, `?`, `[a-z]` and `{a,b}` as in Helm.

use std::sync::Arc;

use regex::RegexBuilder;

const LONGEST: usize = 512;

/// The paths that match.
pub(super) fn select(pattern: &str, paths: &[Arc<str>]) -> Result<Vec<Arc<str>>, String> {
    if pattern.len() > LONGEST {
        return Err(format!("the pattern is longer than {LONGEST} bytes"));
    }
    let bad = || format!("`{pattern}` is no pattern");
    let expression = translated(pattern).ok_or_else(bad)?;
    let matcher = RegexBuilder::new(&expression).size_limit(1 << 20).dot_matches_new_line(true).build();
    let matcher = matcher.map_err(|_| bad())?;
    Ok(paths.iter().filter(|path| matcher.is_match(path)).cloned().collect())
}

fn translated(pattern: &str) -> Option<String> {
    let mut expression = String::from("^(?:");
    let mut open = 0u32;
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.next_if_eq(&'*').is_some() => expression.push_str(".*"),
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '{' => {
                open += 1;
                expression.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                expression.push(')');
            }
            ',' if open > 0 => expression.push('|'),
            '[' => {
                expression.push('[');
                if letters.next_if_eq(&'!').is_some() {
                    expression.push('^');
                }
                loop {
                    match letters.next()? {
                        ']' => break,
                        '-' => expression.push('-'),
                        member => expression.push_str(&regex::escape(&member.to_string())),
                    }
                }
                expression.push(']');
            }
            '\\' => expression.push_str(&regex::escape(&letters.next()?.to_string())),
            other => expression.push_str(&regex::escape(&other.to_string())),
        }
    }
    expression.push_str(")$");
    (open == 0).then_some(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(pattern: &str) -> Vec<String> {
        let paths: Vec<Arc<str>> = ["a.txt", "conf/b.txt", "conf/deep/c.yaml", "d[1].md"].map(Into::into).to_vec();
        select(pattern, &paths).unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_star_stays_in_its_folder_and_two_do_not() {
        assert_eq!(selected("*.txt"), ["a.txt"]);
        assert_eq!(selected("conf/*"), ["conf/b.txt"]);
        assert_eq!(selected("conf/**"), ["conf/b.txt", "conf/deep/c.yaml"]);
        assert_eq!(selected("**.{yaml,md}"), ["conf/deep/c.yaml", "d[1].md"]);
        assert_eq!(selected("[a-b].???"), ["a.txt"]);
        assert_eq!(selected("d\\[1\\].md"), ["d[1].md"]);
    }

    #[test]
    fn a_pattern_that_does_not_end_is_refused() {
        assert!(select("{a", &[]).is_err());
        assert!(select("[a", &[]).is_err());
        assert!(select(&"*".repeat(1000), &[]).is_err());
    }
}
