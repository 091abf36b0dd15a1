//! The last net: every line is scrubbed of credentials in URLs and of bearer tokens on its way out.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use crate::secret::scrub;

#[derive(Debug)]
pub(super) struct Scrubbed<W>(pub(super) W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Scrubbed<W> {
    type Writer = Scrubbing<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Scrubbing(self.0.make_writer())
    }
}

/// The subscriber formats an event in memory and hands it over in one call, so that no secret is cut in two.
#[derive(Debug)]
pub(super) struct Scrubbing<W>(W);

impl<W: Write> Write for Scrubbing<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(scrub(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
