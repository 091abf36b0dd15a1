//! Colours, if there are to be any.

/// Whether what is written is coloured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    on: bool,
}

/// What a colour is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Paint {
    Error,
    Warning,
    Note,
    Help,
    Strong,
    Faint,
    Added,
    Removed,
    Changed,
}

impl Style {
    pub(super) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(super) fn is_on(self) -> bool {
        self.on
    }

    /// The text in its colour.
    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_owned();
        }
        let code = match paint {
            Paint::Error => "1;31",
            Paint::Warning => "1;33",
            Paint::Note => "1;32",
            Paint::Help => "1;36",
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Added => "32",
            Paint::Removed => "31",
            Paint::Changed => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
