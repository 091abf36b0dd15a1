//! Charts packed as `.tgz`: unpacked in memory, within bounds, with nothing outside of the chart's own folder.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Bytes of all archives of a chart, unpacked.
const LARGEST: u64 = 64 << 20;
/// Files of all archives of a chart.
const MOST_FILES: usize = 20_000;
const BLOCK: usize = 512;
/// How every gzip archive begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What the archives of one chart may still unpack to. They share it: an archive may hold others.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    files: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { bytes: LARGEST, files: MOST_FILES }
    }
}

/// Why an archive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// It is something else.
    #[error("it is no gzip archive, which begins otherwise")]
    NoGzip,
    /// It is damaged.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// It is too large.
    #[error("the archives of the chart hold more than {} MiB or {MOST_FILES} files", LARGEST >> 20)]
    TooLarge,
    /// It holds something that is no part of a chart.
    #[error("the archive holds `{0}`, {1}")]
    Refused(String, &'static str),
}

/// The files of a packed chart by their path in it, without the folder that holds them all.
pub fn unpack(bytes: &[u8], room: &mut Room) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
    if !bytes.starts_with(&GZIP) {
        return Err(ArchiveError::NoGzip);
    }
    let mut tar = Vec::new();
    let mut limited = MultiGzDecoder::new(bytes).take(room.bytes + 1);
    limited.read_to_end(&mut tar).map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    let Some(left) = room.bytes.checked_sub(tar.len() as u64) else {
        // The next archive of the chart is not read so far again.
        room.bytes = 0;
        return Err(ArchiveError::TooLarge);
    };
    room.bytes = left;
    let mut files = Vec::new();
    let mut rest = tar.as_slice();
    let mut long_name: Option<String> = None;
    while let Some((header, behind)) = rest.split_at_checked(BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let entry = Header::read(header)?;
        let padded = entry.size.checked_next_multiple_of(BLOCK).ok_or(ArchiveError::TooLarge)?;
        let (Some(content), Some(next)) = (behind.get(..entry.size), behind.get(padded..).or(Some(&[]))) else {
            return Err(ArchiveError::Damaged("a file is cut off".to_owned()));
        };
        rest = next;
        match entry.kind {
            b'0' | 0 | b'7' => {
                let name = long_name.take().unwrap_or(entry.name);
                if let Some(path) = inside(&name)? {
                    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
                    files.push((path, content.to_vec()));
                }
                room.files = room.files.checked_sub(1).ok_or(ArchiveError::TooLarge)?;
            }
            b'L' => long_name = Some(text(content)),
            b'x' => long_name = pax_path(content).or(long_name),
            b'g' => {}
            b'5' => long_name = None,
            b'1' | b'2' => return Err(ArchiveError::Refused(entry.name, "which is a link")),
            _ => return Err(ArchiveError::Refused(entry.name, "which is no file")),
        }
    }
    Ok(files)
}

struct Header {
    name: String,
    size: usize,
    kind: u8,
}

impl Header {
    fn read(header: &[u8]) -> Result<Self, ArchiveError> {
        let part = |from: usize, to: usize| header.get(from..to).unwrap_or_default();
        let octal = |bytes: &[u8]| {
            let digits = text(bytes);
            usize::from_str_radix(digits.trim(), 8).ok()
        };
        let sum: usize = header
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { usize::from(b' ') } else { usize::from(*byte) })
            .sum();
        if octal(part(148, 156)) != Some(sum) {
            return Err(ArchiveError::Damaged("a header has the wrong sum".to_owned()));
        }
        let Some(size) = octal(part(124, 136)) else {
            return Err(ArchiveError::Damaged("a file has no size".to_owned()));
        };
        let (name, prefix) = (text(part(0, 100)), text(part(345, 500)));
        let is_ustar = part(257, 262) == b"ustar";
        let name = if prefix.is_empty() || !is_ustar { name } else { format!("{prefix}/{name}") };
        Ok(Self { name, size, kind: header.get(156).copied().unwrap_or(0) })
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// The path of a record of an extended header.
fn pax_path(content: &[u8]) -> Option<String> {
    let content = text(content);
    content.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path=").map(ToOwned::to_owned))
}

/// The path below the archive's one folder; nothing for what is beside it.
fn inside(name: &str) -> Result<Option<String>, ArchiveError> {
    let plain = name.replace('\\', "/");
    let plain = plain.trim_start_matches("./");
    let is_outside = plain.starts_with('/') || plain.split('/').any(|part| part == "..") || plain.contains(':');
    if name.chars().any(char::is_control) {
        return Err(ArchiveError::Refused(name.escape_default().to_string(), "whose name has control characters"));
    }
    if is_outside {
        return Err(ArchiveError::Refused(name.to_owned(), "which leads out of the chart"));
    }
    let Some((_, path)) = plain.split_once('/') else {
        return Err(ArchiveError::Refused(name.to_owned(), "which is in no folder"));
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    Ok((!parts.is_empty()).then(|| parts.join("/")))
}
