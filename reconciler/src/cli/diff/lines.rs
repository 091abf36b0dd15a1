//! What differs between two texts of many lines, with a little of what is alike around it.

use similar::{DiffTag, TextDiff};

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
/// Lines of one side that are shown of each difference.
const MOST: usize = 40;

/// The lines to show.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let mut shown = Vec::new();
    let mut seen = 0;
    for op in diff.grouped_ops(AROUND).iter().flatten() {
        hide(op.old_range().start - seen, &mut shown);
        seen = op.old_range().end;
        let (removed, added) = (&old[op.old_range()], &new[op.new_range()]);
        if op.tag() == DiffTag::Equal {
            shown.extend(removed.iter().map(|line| Line::Same(line)));
        } else {
            show(removed, Line::Removed, &mut shown);
            show(added, Line::Added, &mut shown);
        }
    }
    hide(old.len() - seen, &mut shown);
    shown
}

fn show<'a>(side: &[&'a str], kind: fn(&'a str) -> Line<'a>, shown: &mut Vec<Line<'a>>) {
    shown.extend(side.iter().take(MOST).map(|line| kind(line)));
    hide(side.len().saturating_sub(MOST), shown);
}

fn hide(lines: usize, shown: &mut Vec<Line<'_>>) {
    if lines > 0 {
        shown.push(Line::Hidden(lines));
    }
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
    fn differences_that_are_far_apart_are_shown_each() {
        let long = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(500));
        let (before, after) = (long("a", "y"), long("b", "z"));
        let same = Line::Same("same");
        let wanted = [
            Line::Removed("a"),
            Line::Added("b"),
            same,
            same,
            Line::Hidden(496),
            same,
            same,
            Line::Removed("y"),
            Line::Added("z"),
        ];
        assert_eq!(lines(&before, &after), wanted);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = "x\n".repeat(100);
        assert_eq!(lines("", &long).len(), MOST + 1);
    }
}
