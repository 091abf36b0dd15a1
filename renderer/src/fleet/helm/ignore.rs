//! `.helmignore`: which files of a chart are none of it.

/// The rules of a file.
#[derive(Debug, Default)]
pub(super) struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: String,
    negates: bool,
    only_folders: bool,
    /// Whether the whole path is looked at, or only the last part of it.
    whole: bool,
}

impl Rules {
    /// Reads a file; a line that Helm refuses is the error.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, &'static str)> {
        let mut rules = Vec::new();
        for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.contains("**") {
                return Err((at + 1, "Helm knows no `**` here"));
            }
            rules.push(rule(line));
        }
        Ok(Self(rules))
    }

    /// With Helm's own rule: what is hidden below `templates/` is no template.
    pub(super) fn with_defaults(mut self) -> Self {
        self.0.push(rule("templates/.?*"));
        self
    }

    /// Whether a file is left out, by itself or with a folder above it.
    pub(super) fn leaves_out(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        folders.chain([(path, false)]).any(|(path, is_folder)| self.matches(path, is_folder))
    }

    fn matches(&self, path: &str, is_folder: bool) -> bool {
        for rule in &self.0 {
            let subject = if rule.whole { path } else { path.rsplit('/').next().unwrap_or(path) };
            let matches = matches(rule.pattern.as_bytes(), subject.as_bytes());
            if rule.negates {
                if (rule.only_folders && !is_folder) || !matches {
                    return true;
                }
            } else if matches && (is_folder || !rule.only_folders) {
                return true;
            }
        }
        false
    }
}

fn rule(line: &str) -> Rule {
    let (negates, line) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
    let (only_folders, line) = line.strip_suffix('/').map_or((false, line), |rest| (true, rest));
    let whole = line.contains('/');
    Rule { pattern: line.strip_prefix('/').unwrap_or(line).to_owned(), negates, only_folders, whole }
}

/// Go's `filepath.Match`, in time bounded by the product of both lengths.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        if n == name.len() && p == pattern.len() {
            return true;
        }
        if n < name.len()
            && let Some(next) = one(pattern, p, name[n])
        {
            p = next;
            n += 1;
            continue;
        }
        match star {
            Some((after, from)) if from < name.len() && name[from] != b'/' => {
                star = Some((after, from + 1));
                p = after;
                n = from + 1;
            }
            _ => return false,
        }
    }
}

/// Where the pattern goes on if its next part matches this byte.
fn one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match *pattern.get(at)? {
        b'?' => (byte != b'/').then_some(at + 1),
        b'[' => {
            let end = at + 2 + pattern.get(at + 2..)?.iter().position(|byte| *byte == b']')?;
            let mut inside = pattern.get(at + 1..end)?;
            let negates = inside.first() == Some(&b'^');
            if negates {
                inside = inside.get(1..)?;
            }
            let mut found = false;
            while let Some(low) = inside.first() {
                if let [low, b'-', high, ..] = inside {
                    found |= (low..=high).contains(&&byte);
                    inside = inside.get(3..)?;
                } else {
                    found |= *low == byte;
                    inside = inside.get(1..)?;
                }
            }
            (found != negates).then_some(end + 1)
        }
        b'\\' => (*pattern.get(at + 1)? == byte).then_some(at + 2),
        letter => (letter == byte).then_some(at + 1),
    }
}
