//! What the second reader of YAML (`yaml::fast_path`) gains over the parser, for text that templates write.
//!
//! The runtimes of `examples-repo` twice: as they are, and with a letter beyond ASCII in a comment at the top of every
//! text, which the second reader leaves to the parser. Nothing here fails for being slow: it prints ratios.

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clock")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use reeve_renderer::cache::NoCache;
use reeve_renderer::fleet::{Fleet, Loader};
use reeve_renderer::render::Renderer;
use reeve_renderer::resolve::{self, Resolved};
use reeve_renderer::tree::MemoryTree;
use reeve_renderer::value::Value;
use reeve_renderer::yaml::{self, Interner, Options};

/// What the second reader does not read.
const BEYOND_ASCII: &str = "# ü\n";
/// How often each side is measured, in turns; the best counts.
const ROUNDS: usize = 9;
/// How often the work is done in a round.
const TIMES: u32 = 40;

fn main() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples-repo");
    let (plain, parsed) = (Rendered::of(&folder, "")?, Rendered::of(&folder, BEYOND_ASCII)?);
    let texts = plain.texts()?;
    let left: Vec<String> = texts.iter().map(|text| format!("{BEYOND_ASCII}{text}")).collect();
    ensure!(texts == parsed.texts()?, "both read the same");
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} objects of {} runtimes, {bytes} bytes of YAML, one thread", texts.len(), plain.runtimes.len());
    show("text to values", in_turns(|| read(&texts), || read(&left))?);
    show("runtimes to checked, labelled objects, no cache", in_turns(|| plain.render(), || parsed.render())?);
    Ok(())
}

struct Rendered {
    fleet: Fleet,
    runtimes: Vec<Resolved>,
}

impl Rendered {
    /// The repository in a folder, with a line put before every template.
    fn of(folder: &Path, line: &str) -> Result<Self> {
        let mut tree = MemoryTree::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in std::fs::read_dir(&next).with_context(|| format!("cannot list {}", next.display()))? {
                let path = entry.context("cannot list a folder")?.path();
                let name = path.strip_prefix(folder)?.to_str().context("a name is no text")?.to_owned();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let text = std::fs::read(&path).with_context(|| format!("cannot read {name}"))?;
                let is_template = name.ends_with(".yaml.j2");
                tree.write(name, if is_template { [line.as_bytes(), &text].concat() } else { text });
            }
        }
        let (fleet, said) = Loader::new().load(&tree).context("a tree in memory can be read")?;
        ensure!(said.is_empty(), "the examples are wrong: {said:?}");
        let resolved = |name| match resolve::resolve(&fleet, name) {
            Some(Ok(resolved)) => Ok(resolved),
            other => bail!("the examples are wrong: {other:?}"),
        };
        let runtimes = fleet.runtimes.keys().map(|name| resolved(name)).collect::<Result<_>>()?;
        Ok(Self { fleet, runtimes })
    }

    fn render(&self) -> Result<()> {
        self.for_each_object(|value| drop(black_box(value)))
    }

    /// Every object as text.
    fn texts(&self) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        self.for_each_object(|value| {
            let mut text = String::new();
            yaml::write(&value, &mut text);
            texts.push(text);
        })?;
        Ok(texts)
    }

    fn for_each_object(&self, mut each: impl FnMut(Value)) -> Result<()> {
        let renderer = Renderer::new(&self.fleet.settings, &NoCache);
        for runtime in &self.runtimes {
            let Ok(bundle) = renderer.runtime(runtime) else { bail!("the examples do not render") };
            let objects = bundle.components.iter().flat_map(|component| &component.objects);
            objects.for_each(|object| each(Value::Dict(object.value.clone())));
        }
        Ok(())
    }
}

fn read(texts: &[String]) -> Result<()> {
    let mut interner = Interner::default();
    for text in texts {
        let Ok(read) = yaml::values(text, &Options::default(), &mut interner) else { bail!("no YAML: {text}") };
        black_box(read);
    }
    Ok(())
}

/// The best time of each, for doing it once.
fn in_turns(quick: impl Fn() -> Result<()>, slow: impl Fn() -> Result<()>) -> Result<(Duration, Duration)> {
    let time = |work: &dyn Fn() -> Result<()>| -> Result<Duration> {
        let begin = Instant::now();
        (0..TIMES).try_for_each(|_| work())?;
        Ok(begin.elapsed() / TIMES)
    };
    let (mut best_quick, mut best_slow) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best_quick = best_quick.min(time(&quick)?);
        best_slow = best_slow.min(time(&slow)?);
    }
    Ok((best_quick, best_slow))
}

fn show(what: &str, (quick, slow): (Duration, Duration)) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let ratio = slow.as_secs_f64() / quick.as_secs_f64();
    println!("  {what:<50} {:>8.2} ms, parser {:>8.2} ms: {ratio:.1} x", milliseconds(quick), milliseconds(slow));
}
