//! Errors for people.

use std::error::Error;

/// An error with all its causes on one line. Libraries whose errors print their source themselves get no echo, and of an
/// error of several lines only the first is kept: below it some show the text that they could not read, secrets and all.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let first_line = |error: &dyn Error| error.to_string().lines().next().unwrap_or_default().to_owned();
    let mut line = first_line(error);
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = first_line(error);
        if !line.ends_with(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::error_chain;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the kubeconfig")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("line 13: expected a string\n11 | token: s3cret\n13 | password: [oops]")]
    struct Inner;

    #[test]
    fn of_a_cause_that_quotes_what_it_could_not_read_only_the_first_line_is_told() {
        assert_eq!(error_chain(&Outer(Inner)), "cannot read the kubeconfig: line 13: expected a string");
    }
}
