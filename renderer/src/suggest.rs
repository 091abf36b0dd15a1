//! What someone probably meant to write.

/// Longer names are not compared: the cost grows with the square.
const LONGEST: usize = 64;

/// The candidate nearest to a name, if any is near: a third of the letters may differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = name.chars().take(LONGEST + 1).flat_map(char::to_lowercase).collect();
    if wanted.len() > LONGEST {
        return None;
    }
    let allowed = (wanted.len() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name && candidate.len() <= LONGEST)
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase().chars().collect::<Vec<_>>()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letters to insert, remove, replace or swap.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, b) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut cheapest = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == to[column - 1] && from[row - 1] == *b {
                cheapest = cheapest.min(before_last[column - 1] + 1);
            }
            current.push(cheapest);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[to.len()]
}

/// The sentence for a help line.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(name, candidates).map(|nearest| format!("did you mean `{nearest}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_a_stranger_is_not() {
        assert_eq!(nearest("imgae", ["name", "image", "images"]), Some("image"));
        assert_eq!(nearest("Channel", ["channel"]), Some("channel"));
        assert_eq!(nearest("replicas", ["image", "tag"]), None);
        assert_eq!(nearest("a", ["b"]), Some("b"));
        assert_eq!(nearest(&"x".repeat(1000), ["x"]), None);
    }
}
