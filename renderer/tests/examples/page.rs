//! The code blocks and tables of a page, so that what a page shows can be run.

use crate::repository;

/// A fenced block: the words after the fence and the text inside.
#[derive(Debug)]
pub(crate) struct Block {
    /// `yaml`, `jinja` and the like.
    pub(crate) language: String,
    /// What the block is there for; GitHub shows only the language.
    pub(crate) role: String,
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The text of a page below `docs/`.
pub(crate) fn read(name: &str) -> String {
    std::fs::read_to_string(repository::path("docs").join(name)).unwrap()
}

/// All fenced blocks, in order.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(words) = line.strip_prefix("```") else { continue };
        let (language, role) = words.split_once(' ').unwrap_or((words, ""));
        let mut text = String::new();
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            text.push_str(line);
            text.push('\n');
        }
        blocks.push(Block { language: language.to_owned(), role: role.to_owned(), text, line: at + 1 });
    }
    blocks
}

/// The rows of the table below this header, as cells; code in a cell stands without its backticks.
pub(crate) fn table(page: &str, header: &str) -> Vec<Vec<String>> {
    let rows = page.lines().skip_while(|line| *line != header).skip(2).take_while(|line| line.starts_with('|'));
    rows.map(cells).collect()
}

fn cells(row: &str) -> Vec<String> {
    // A bar inside a cell is written with a backslash.
    let row = row.replace("\\|", "\u{0}");
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().trim_matches('`').replace('\u{0}', "|")).collect()
}
