//! The process that fetches: it reads one request from its input, brings one mirror up to date, answers and ends.
//!
//! It ends at once when its input does, which is when its parent is gone. Everything that libgit2 keeps for a whole
//! process is set here: it lives for one fetch.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::{fs, thread};

use git2::{ConfigLevel, Oid, Repository};

use super::fetch::{Moved, Tag};
use super::mirror::{CommitFacts, fetched_ref, point};
use super::reference::{Choice, Head, TAGS, choose, shown};
use super::store::{Store, os_error};
use super::wire::{Answer, Line, Request, Stage, WireLogin};
use failure::Failure;
use renewal::Renewal;
use source::Source;

mod check;
mod failure;
mod local;
mod presenter;
mod remote;
mod renewal;
mod source;
mod tags;

/// With more packs than this, a mirror is packed into one.
const MOST_PACKS: usize = 50;

/// Does one fetch, as standard input says, and tells standard output. Fails when nobody listens.
pub fn run() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)?;
    drop(line);
    end_with_parent()?;
    write_line(&match work(&request) {
        Ok(answer) => Line::Done(answer),
        Err(failure) => failure.into_line(&request),
    })
}

fn write_line(line: &Line) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, line)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn enter(stage: Stage) {
    // A parent that cannot hear is gone, and so are we in a moment.
    let _ = write_line(&Line::Stage(stage));
}

/// Host keys and authorities where libgit2 looks for them, and nothing of the machine's configuration.
#[expect(unsafe_code, reason = "libgit2's options are of the whole process")]
fn prepare(request: &Request, home: &Path) -> Result<(), git2::Error> {
    let write = |name: &str, text: &str| fs::write(home.join(name), text).map_err(|error| os_error(&error));
    fs::create_dir_all(home.join(".ssh")).map_err(|error| os_error(&error))?;
    let known_hosts = match &request.login {
        WireLogin::Key { known_hosts, .. } => known_hosts,
        WireLogin::Anonymous | WireLogin::Password { .. } | WireLogin::Token { .. } => "",
    };
    write(".ssh/known_hosts", known_hosts)?;
    if let Some(authority) = &request.authority {
        write("ca.crt", authority)?;
    }
    // SAFETY: these change globals of libgit2 without a lock, and no other thread of this process ever calls libgit2.
    unsafe {
        for level in [ConfigLevel::System, ConfigLevel::Global, ConfigLevel::XDG, ConfigLevel::ProgramData] {
            git2::opts::set_search_path(level, "")?;
        }
        // A repository at file:// is only read, and nothing of its configuration is run: it may be somebody else's.
        git2::opts::set_verify_owner_validation(false)?;
        if request.authority.is_some() {
            git2::opts::set_ssl_cert_file(home.join("ca.crt"))?;
        }
    }
    Ok(())
}

fn end_with_parent() -> io::Result<()> {
    let watch = || {
        let mut rest = [0; 64];
        while matches!(io::stdin().read(&mut rest), Ok(1..)) {}
        // Not by an exit, which would run the end of libraries that another thread is in the middle of.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    };
    thread::Builder::new().name("parent".to_owned()).spawn(watch).map(drop)
}

fn work(request: &Request) -> Result<Answer, Failure> {
    let store = &Store::new(request.folder.clone());
    enter(Stage::Waiting);
    let _held = store.lock()?;
    store.sweep()?;
    prepare(request, &store.home())?;
    if let Ok(repository) = store.open() {
        match fetch(request, &repository).and_then(|found| packed(store, &repository).map(|()| found)) {
            Ok(found) => return found.answer(request, &repository, false),
            Err(failure) if failure.is_of_the_mirror() => {}
            Err(failure) => return Err(failure),
        }
    }
    // There is none, or none that can be used: a new one takes its place once it is complete.
    let was_there = store.current().is_ok();
    let old = store.open().or_else(|_| store.salvage()).ok();
    let renewal = Renewal::start(store)?;
    let found = fetch(request, renewal.repository())?;
    let answer = found.answer(request, renewal.repository(), was_there)?;
    renewal.finish(store, old.as_ref())?;
    Ok(answer)
}

/// Makes one pack of many. That this cannot be done is only worth an error when the mirror is to blame.
fn packed(store: &Store, repository: &Repository) -> Result<(), Failure> {
    if store.packs() <= MOST_PACKS {
        return Ok(());
    }
    let renewed = Renewal::start(store).and_then(|renewal| renewal.packed(repository));
    match renewed.and_then(|renewal| renewal.finish(store, Some(repository))) {
        Err(failure) if failure.is_of_the_mirror() => Err(failure),
        _ => Ok(()),
    }
}

/// What a fetch found, and what came over for it.
struct Found {
    choice: Choice,
    commit: Oid,
    objects: u64,
    bytes: u64,
}

fn fetch(request: &Request, repository: &Repository) -> Result<Found, Failure> {
    enter(Stage::Connecting);
    let mut source = Source::connect(request, repository)?;
    let heads = source.heads()?;
    let choice = choose(&request.reference, &heads)?;
    let commit = Oid::from_str(&choice.commit)?;
    let is_there = repository.find_commit(commit).is_ok() && tags::are_there(repository, &choice);
    let (objects, bytes) = if is_there {
        (0, 0)
    } else {
        enter(Stage::Receiving);
        source.receive(&choice)?
    };
    if !is_there || request.suspect {
        enter(Stage::Checking);
        check::whole(repository, commit, &choice, request.suspect)?;
    } else {
        check::root(repository, commit)?;
    }
    note(repository, &choice, &heads)?;
    Ok(Found { choice, commit, objects, bytes })
}

/// Points a ref to what the server has, so that it stays and the next fetch starts from it.
fn note(repository: &Repository, choice: &Choice, heads: &[Head]) -> Result<(), git2::Error> {
    let source = choice.source.as_deref().unwrap_or(&choice.commit);
    let reference = fetched_ref(source);
    let listed = heads.iter().find(|head| head.name == source).map_or(&choice.commit, |head| &head.id);
    let readable = |id: &str| Oid::from_str(id).is_ok_and(|id| repository.find_object(id, None).is_ok());
    // A tag's own object, if it came along, and else what it points to. One that libgit2 cannot read would end every
    // fetch that begins at our refs.
    let id = if readable(listed) { listed } else { &choice.commit };
    let now = repository.find_reference(&reference).ok().and_then(|reference| reference.target());
    if now.is_some_and(|now| now.to_string() == *id) { Ok(()) } else { point(repository, &reference, id) }
}

impl Found {
    fn tag(&self) -> Option<Tag> {
        let name = self.choice.source.as_deref()?.strip_prefix(TAGS)?;
        Some(Tag { name: name.to_owned(), id: self.choice.tag.clone() })
    }

    fn answer(&self, request: &Request, repository: &Repository, rebuilt: bool) -> Result<Answer, Failure> {
        let before = request.last_seen.as_deref();
        let descends = |from: &str| {
            let from = Oid::from_str(from)?;
            repository.graph_descendant_of(self.commit, from)
        };
        let moved = match before {
            None => Moved::First,
            Some(from) if from == self.choice.commit => Moved::Unchanged,
            // A commit that is not even there any more is in no history.
            Some(from) if descends(from).unwrap_or(false) => Moved::Forward,
            Some(from) => Moved::Rewritten { from: from.to_owned() },
        };
        Ok(Answer {
            commit: CommitFacts::read(repository, self.commit)?,
            tag: self.tag(),
            revision: shown(self.choice.name.as_deref(), &self.choice.commit),
            moved,
            received_objects: self.objects,
            received_bytes: self.bytes,
            rebuilt,
        })
    }
}
