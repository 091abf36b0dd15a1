//! `reeve new`: a start that works, with comments that teach. Nothing that exists is overwritten.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::names;

use super::args::{NewArgs, NewCommand, RevisionArgs};
use super::failure::Failure;
use super::source::Source;
use super::{Status, Terminal};

mod runtime;
mod skeleton;

/// What a file of the skeleton has where the name goes.
const NAME: &str = "@name@";
/// The chart of a new fleet.
const FIRST_CHART: &str = "hello";

/// A file to write, below the folder that was named.
type File = (String, String);

pub(super) fn run(args: &NewArgs, terminal: &mut Terminal) -> Result<Status, Failure> {
    let (thing, made, next) = match &args.what {
        NewCommand::Fleet(thing) => {
            // A path says where it goes; what it is called is its last part.
            let name = Path::new(&thing.name).file_name().and_then(OsStr::to_str).unwrap_or_default();
            check_name("fleet", name)?;
            let at = below(&thing.path, &thing.name);
            write_all(&at, &at, &fleet(name))?;
            let shown = at.display();
            (thing, at.clone(), format!("try `reeve validate {shown}` and `reeve render {shown}`"))
        }
        NewCommand::Chart(thing) => {
            check_name("chart", &thing.name)?;
            load(&thing.path)?;
            let folder = format!("charts/{}", thing.name);
            write_all(&thing.path, &below(&thing.path, &folder), &chart(&thing.name, &format!("{folder}/0.1.0/")))?;
            let name = &thing.name;
            let next = format!(
                "write `{name}: 0.1.0` into a channel, and `{name}: {{}}` below `components` of fleet.yaml or of a runtime"
            );
            (thing, below(&thing.path, &folder).join("0.1.0"), next)
        }
        NewCommand::Runtime(thing) => {
            check_name("runtime", &thing.name)?;
            let fleet = load(&thing.path)?;
            if let Some(other) = fleet.runtimes.get(thing.name.as_str()) {
                return Err(Failure::Exists { path: format!("runtime `{}` in {}", thing.name, other.file) });
            }
            let file = (format!("runtimes/{}.yaml", thing.name), runtime::text(&fleet));
            let at = below(&thing.path, &file.0);
            write_all(&thing.path, &at, &[file])?;
            (thing, at, format!("try `reeve render -r {}`", thing.name))
        }
    };
    writeln!(terminal.out, "made {} in {}\n{next}", thing.name, made.display())?;
    Ok(Status::Fine)
}

/// A path below a folder as a person would write it.
fn below(folder: &Path, path: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(path) } else { folder.join(path) }
}

fn check_name(what: &str, name: &str) -> Result<(), Failure> {
    if names::is_label(name) {
        return Ok(());
    }
    Err(Failure::unknown(format!("a {what} cannot be called `{name}`"), Some(names::LABEL_RULE.to_owned())))
}

fn load(path: &Path) -> Result<Fleet, Failure> {
    let source = Source::open(path, &RevisionArgs::default())?;
    Ok(source.load(&Loader::new())?.0)
}

fn fleet(name: &str) -> Vec<File> {
    let own = skeleton::FLEET.iter().map(|(path, text)| ((*path).to_owned(), text.replace(NAME, name)));
    own.chain(chart(FIRST_CHART, &format!("charts/{FIRST_CHART}/0.1.0/"))).collect()
}

fn chart(name: &str, folder: &str) -> Vec<File> {
    skeleton::CHART.iter().map(|(path, text)| (format!("{folder}{path}"), text.replace(NAME, name))).collect()
}

/// Writes the files, unless what is made is there already; an empty folder is as good as none.
fn write_all(root: &Path, made: &Path, files: &[File]) -> Result<(), Failure> {
    let is_there = match fs::read_dir(made) {
        Ok(mut entries) => entries.next().is_some(),
        Err(_) => fs::symlink_metadata(made).is_ok(),
    };
    if is_there {
        return Err(Failure::Exists { path: made.display().to_string() });
    }
    for (path, text) in files {
        let file = root.join(path);
        write_new(&file, text).map_err(|cause| Failure::Create { path: file.display().to_string(), cause })?;
    }
    Ok(())
}

fn write_new(file: &PathBuf, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(file)?.write_all(text.as_bytes())
}
