//! What someone probably meant to write.

/// Longer names are not compared: the cost grows with the square.
const LONGEST: usize = 64;

/// The candidate nearest to a name, if any is near: a third of the letters may differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let wanted = name.to_lowercase();
    let allowed = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name && candidate.len() <= LONGEST)
        .map(|candidate| (strsim::osa_distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
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
