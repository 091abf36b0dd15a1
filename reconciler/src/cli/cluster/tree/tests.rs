use super::draw::{Lines, draw};
use super::forest::Node;
use crate::cli::style::Style;

fn leaf(name: &str) -> Node {
    Node { name: name.to_owned(), ..Node::default() }
}

#[test]
fn lines_lead_from_each_child_to_its_parent() {
    let inner = Node { children: vec![leaf("c")], trouble: Some("x\ny".to_owned()), ..leaf("b") };
    let root = Node { children: vec![inner, leaf("d")], ..leaf("a") };
    let mut text = String::new();
    draw(&root, Lines::Ascii, Style::new(false), &mut text);
    assert_eq!(text, "a\n|-- b: x y\n|   `-- c\n`-- d\n");
    text.clear();
    draw(&root, Lines::Unicode, Style::new(false), &mut text);
    assert_eq!(text, "a\n├── b: x y\n│   └── c\n└── d\n");
}
