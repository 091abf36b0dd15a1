//! What differs between two texts of many lines: what they begin and end with alike is left out.

/// A line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// In both, for orientation.
    Same(&'a str),
    /// Only before.
    Removed(&'a str),
    /// Only after.
    Added(&'a str),
    /// This many are not shown.
    Hidden(usize),
}

/// Equal lines that are shown before and after what differs.
const AROUND: usize = 2;
/// Lines of one side that are shown.
const MOST: usize = 40;

/// The lines to show.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let mut shown = Vec::new();
    let hidden = head.saturating_sub(AROUND);
    if hidden > 0 {
        shown.push(Line::Hidden(hidden));
    }
    shown.extend(old[hidden..head].iter().map(|line| Line::Same(line)));
    for (side, kind) in [(old_rest, Line::Removed as fn(&'a str) -> Line<'a>), (new_rest, Line::Added)] {
        let differing = &side[..side.len() - tail];
        shown.extend(differing.iter().take(MOST).map(|line| kind(line)));
        if differing.len() > MOST {
            shown.push(Line::Hidden(differing.len() - MOST));
        }
    }
    let end = &old[old.len() - tail..];
    shown.extend(end.iter().take(AROUND).map(|line| Line::Same(line)));
    if tail > AROUND {
        shown.push(Line::Hidden(tail - AROUND));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_and_a_little_around_it_is_shown() {
        let shown = lines("a\nb\nc\nold\nd\ne\nf\n", "a\nb\nc\nnew\nnewer\nd\ne\nf\n");
        let wanted = [
            Line::Hidden(1),
            Line::Same("b"),
            Line::Same("c"),
            Line::Removed("old"),
            Line::Added("new"),
            Line::Added("newer"),
            Line::Same("d"),
            Line::Same("e"),
            Line::Hidden(1),
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn lines_that_repeat_are_not_counted_twice() {
        assert_eq!(lines("x\n", "x\nx\n"), [Line::Same("x"), Line::Added("x")]);
        assert_eq!(lines("x\nx\n", "x\n"), [Line::Same("x"), Line::Removed("x")]);
        assert_eq!(lines("", "x"), [Line::Added("x")]);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = "x\n".repeat(100);
        assert_eq!(lines("", &long).len(), MOST + 1);
    }
}
