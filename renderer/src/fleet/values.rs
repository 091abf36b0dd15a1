//! Values as a file has them, with their positions.
//!
//! Charts and layers are few and used by many runtimes, so what they say is kept as data. Runtimes are many and each is
//! looked at seldom: of their files only the text is kept, and read again when someone asks. So a fleet takes little more
//! memory than its files have bytes.

use std::sync::Arc;

use crate::value::{Dict, KeyPath, Step, Value};
use crate::yaml::{self, Node, Span};

/// Values of one file.
#[derive(Clone, Debug)]
pub struct Values {
    /// The file.
    pub file: Arc<str>,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Data(Arc<Node>, Dict),
    /// The document that holds them, and where in it they are.
    Text(Arc<(Arc<DocumentText>, KeyPath)>),
}

/// The text of one document of a file.
#[derive(Debug)]
pub(super) struct DocumentText {
    text: Box<str>,
    /// Lines of the file before it.
    before: u32,
}

/// The document that was read last. Whoever asks for many values of one runtime reads its text once.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    document: Option<Arc<DocumentText>>,
    value: Option<Value>,
    node: Option<Node>,
}

impl Values {
    pub(crate) fn data(file: Arc<str>, node: Node, dict: Dict) -> Self {
        Self { file, source: Source::Data(Arc::new(node), dict) }
    }

    pub(super) fn text(file: Arc<str>, document: Arc<DocumentText>, path: KeyPath) -> Self {
        Self { file, source: Source::Text(Arc::new((document, path))) }
    }

    /// What the file says.
    pub fn dict(&self) -> Dict {
        self.dict_of(&mut Decoded::default())
    }

    /// Where the file says something about a path: the key, or else the values as a whole.
    pub fn span_at(&self, path: &KeyPath) -> Span {
        self.span_of(path, &mut Decoded::default())
    }

    pub(crate) fn dict_of(&self, decoded: &mut Decoded) -> Dict {
        match &self.source {
            Source::Data(_, dict) => dict.clone(),
            Source::Text(kept) => {
                let (document, path) = &**kept;
                let found = path.0.iter().try_fold(decoded.value(document), |value, step| match step {
                    Step::Key(key) => value.get(key),
                    Step::Index(_) => None,
                });
                found.and_then(Value::as_dict).cloned().unwrap_or_default()
            }
        }
    }

    pub(crate) fn span_of(&self, path: &KeyPath, decoded: &mut Decoded) -> Span {
        match &self.source {
            Source::Data(node, _) => node.span_at(path).unwrap_or(node.span),
            Source::Text(kept) => {
                let (document, own) = &**kept;
                let Some(root) = decoded.node(document) else { return Span { line: 1, column: 1, length: 1 } };
                let whole = KeyPath(own.0.iter().chain(&path.0).cloned().collect());
                let span = root.span_at(&whole).or_else(|| root.span_at(own)).unwrap_or(root.span);
                Span { line: span.line.saturating_add(document.before), ..span }
            }
        }
    }
}

impl DocumentText {
    /// The documents of a file, which begin where these nodes do; none if lines cannot be counted as the parser does.
    pub(super) fn of(text: &str, documents: &[Node]) -> Option<Vec<Arc<Self>>> {
        let whole = |text: &str, before: u32| Arc::new(Self { text: text.into(), before });
        if documents.len() == 1 {
            return Some(vec![whole(text, 0)]);
        }
        if text.contains('\r') {
            return None;
        }
        let mut lines = text.split_inclusive('\n');
        let (mut line, mut at) = (1, 0);
        let mut starts = Vec::with_capacity(documents.len());
        for document in documents.iter().skip(1) {
            while line < document.span.line {
                at += lines.next()?.len();
                line += 1;
            }
            starts.push((at, line - 1));
        }
        let ends = starts.iter().map(|(start, _)| *start).chain([text.len()]);
        let begins = [(0, 0)].into_iter().chain(starts.iter().copied());
        begins.zip(ends).map(|((start, before), end)| Some(whole(text.get(start..end)?, before))).collect()
    }
}

impl Decoded {
    fn turn_to(&mut self, document: &Arc<DocumentText>) {
        if !self.document.as_ref().is_some_and(|known| Arc::ptr_eq(known, document)) {
            *self = Self { document: Some(document.clone()), value: None, node: None };
        }
    }

    // What was read without a finding before is read without one again.
    fn value(&mut self, document: &Arc<DocumentText>) -> &Value {
        self.turn_to(document);
        self.value.get_or_insert_with(|| {
            let read = yaml::values(&document.text, &yaml::Options::default(), &mut yaml::Interner::default());
            read.ok().and_then(|documents| documents.into_iter().next()).map_or(Value::Null, |first| first.value)
        })
    }

    fn node(&mut self, document: &Arc<DocumentText>) -> Option<&Node> {
        self.turn_to(document);
        if self.node.is_none() {
            self.node = yaml::documents(&document.text, &yaml::Options::default()).ok()?.into_iter().next();
        }
        self.node.as_ref()
    }
}
