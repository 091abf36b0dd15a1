//! What was found of an object, told to a person or a programme.

use std::io::Write as _;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use reeve_crds::git_source::status::Commit;
use reeve_crds::{GitSource, Runtime, RuntimeComponent};
use reeve_process::secret::scrub;
use reeve_reconciler_git::CommitSummary;
use serde_json::{Value, json};

use super::super::age::age;
use super::super::governed::{Governed as _, standing};
use super::super::kinds::Kind;
use super::checkout::Checkout;
use super::writers::{Writer, claims, others};
use crate::cli::Terminal;
use crate::cli::failure::Failure;
use crate::cli::style::Paint;
use crate::cli::text::harmless;

/// An object and where it comes from.
pub(super) struct Answer {
    /// The object that was asked for, then its owners.
    pub(super) chain: Vec<(Kind, DynamicObject)>,
    /// What Reeve says of the last of them, if it is Reeve's.
    pub(super) owned: Option<Owned>,
    /// What the files at hand say.
    pub(super) checkout: Checkout,
}

/// What Reeve's kinds say.
#[derive(Default)]
pub(super) struct Owned {
    pub(super) runtime: String,
    pub(super) component: String,
    pub(super) object: Option<RuntimeComponent>,
    pub(super) runtime_object: Option<Runtime>,
    pub(super) source: Option<GitSource>,
}

impl Owned {
    /// The commit whose objects are in the cluster.
    pub(super) fn applied_commit(&self) -> Option<&str> {
        let applied = self.object.as_ref()?.status.as_ref()?.applied.as_ref()?;
        applied.commit.as_deref().or_else(|| Some(&*self.commit()?.id))
    }

    fn revision(&self) -> Option<&str> {
        let component = self.object.as_ref()?;
        let wanted = || Some(&*component.status.as_ref()?.desired.as_ref()?.revision);
        component.revision().or_else(wanted)
    }

    /// What is known of the commit, if the source is still at it.
    fn commit(&self) -> Option<&Commit> {
        let status = self.source.as_ref()?.status.as_ref()?;
        let commit = status.commit.as_ref()?;
        let applied = self.object.as_ref()?.status.as_ref()?.applied.as_ref();
        match applied.and_then(|applied| applied.commit.as_ref()) {
            Some(id) => (*id == commit.id).then_some(commit),
            None => (status.revision.as_deref() == self.revision()).then_some(commit),
        }
    }

    /// Lines of a word and what it stands for.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        match &self.object {
            Some(object) => {
                let place = format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any());
                lines.push(("component", format!("{} ({place}), {:?}", self.component, standing(object))));
                let spec = &object.spec;
                let channel = spec.channel.as_ref().map(|channel| format!(", from channel {channel}"));
                lines.push(("chart", format!("{} {}{}", spec.chart, spec.version, channel.unwrap_or_default())));
                lines.extend(spec.origin.clone().map(|origin| ("put there", origin)));
            }
            None => lines.push(("component", format!("{}, of which there is no RuntimeComponent", self.component))),
        }
        let file = self.runtime_object.as_ref().and_then(|runtime| runtime.spec.file.clone());
        lines.push(("runtime", self.runtime.clone() + &file.map(|file| format!(", {file}")).unwrap_or_default()));
        if let Some(source) = &self.source {
            lines.push(("source", format!("{}, {}", source.name_any(), scrub(&source.spec.url))));
        }
        lines.extend(self.revision().map(|revision| ("revision", revision.to_owned())));
        lines
    }
}

/// What is known of a commit.
#[derive(Default)]
struct Told<'a> {
    id: &'a str,
    author: Option<&'a str>,
    when: Option<Timestamp>,
    subject: Option<&'a str>,
}

impl<'a> From<&'a Commit> for Told<'a> {
    fn from(commit: &'a Commit) -> Self {
        Self {
            id: &commit.id,
            author: commit.author.as_deref(),
            when: commit.committed_at.as_ref().map(|time| time.0),
            subject: commit.subject.as_deref(),
        }
    }
}

impl<'a> From<&'a CommitSummary> for Told<'a> {
    fn from(commit: &'a CommitSummary) -> Self {
        Self {
            id: &commit.id,
            author: Some(&commit.author),
            when: Timestamp::from_second(commit.seconds).ok(),
            subject: Some(&commit.subject),
        }
    }
}

impl Told<'_> {
    /// On one line.
    fn sentence(&self) -> String {
        let mut text = self.id.to_owned();
        text.extend(self.author.map(|author| format!(" by {author}")));
        text.extend(self.when.map(|when| format!(", {when}")));
        text.extend(self.subject.map(|subject| format!(": {subject}")));
        text
    }
}

impl Answer {
    /// The object that is or is not Reeve's: that which was asked for, or what owns it.
    pub(super) fn traced(&self) -> Option<&(Kind, DynamicObject)> {
        self.chain.last()
    }

    /// The commit that is applied, as the source knows it if it is still at it, else as the checkout does.
    fn commit(&self) -> Option<Told<'_>> {
        let owned = self.owned.as_ref()?;
        let known = owned.commit().map(Told::from).or_else(|| self.checkout.commit.as_ref().map(Told::from));
        known.or_else(|| owned.applied_commit().map(|id| Told { id, ..Told::default() }))
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let owners = self.chain.iter().skip(1).map(|(kind, object)| ("owned by", shown(kind, object)));
        let mut lines: Vec<_> = owners.collect();
        lines.extend(self.owned.iter().flat_map(Owned::lines));
        lines.extend(self.commit().map(|commit| ("commit", commit.sentence())));
        if let Some(template) = &self.checkout.template {
            let place = template.revision.as_ref().map_or("the files here", |_| "the commit that is applied");
            lines.push(match &template.file {
                Some(file) => ("template", file.clone()),
                None => ("template", format!("nothing in {place} makes this object")),
            });
            lines.extend(template.change.as_ref().map(|change| ("changed by", Told::from(change).sentence())));
        }
        lines
    }

    pub(super) fn write(&self, now: Timestamp, terminal: &mut Terminal) -> Result<(), Failure> {
        let Some((kind, object)) = self.chain.first() else { return Ok(()) };
        let style = terminal.style;
        let out = &mut terminal.out;
        writeln!(out, "{}", style.paint(Paint::Strong, &shown(kind, object)))?;
        if self.owned.is_none() {
            writeln!(out, "  {}", style.paint(Paint::Warning, "is not Reeve's: it has no label reeve.dev/component"))?;
        }
        for (word, text) in self.lines() {
            writeln!(out, "  {word:<11} {}", harmless(&text))?;
        }
        let Some((_, traced)) = self.traced() else { return Ok(()) };
        if self.owned.is_none() {
            claims(traced).iter().try_for_each(|claim| writeln!(out, "  {:<11} {}", "claimed", harmless(claim)))?;
        }
        for writer in others(traced) {
            writeln!(out, "  {:<11} {}", "written by", harmless(&writer_line(&writer, now)))?;
        }
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        let Some((_, traced)) = self.traced() else { return Value::Null };
        let writers: Vec<Value> = others(traced)
            .iter()
            .map(|writer| {
                json!({
                    "manager": writer.manager, "operation": writer.operation, "fields": writer.fields,
                    "moreFields": writer.more, "at": writer.at.map(|at| at.to_string()),
                })
            })
            .collect();
        let owned = self.owned.as_ref();
        let commit = self.commit();
        let template = self.checkout.template.as_ref();
        let spec = owned.and_then(|owned| owned.object.as_ref()).map(|object| &object.spec);
        json!({
            "objects": self.chain.iter().map(|(kind, object)| shown(kind, object)).collect::<Vec<_>>(),
            "managedByReeve": owned.is_some(),
            "component": owned.map(|owned| &owned.component),
            "runtime": owned.map(|owned| &owned.runtime),
            "chart": spec.map(|spec| &spec.chart),
            "version": spec.map(|spec| &spec.version),
            "channel": spec.and_then(|spec| spec.channel.as_ref()),
            "origin": spec.and_then(|spec| spec.origin.as_ref()),
            "revision": owned.and_then(Owned::revision),
            "commit": commit.as_ref().map(|commit| commit.id),
            "author": commit.as_ref().and_then(|commit| commit.author),
            "subject": commit.as_ref().and_then(|commit| commit.subject),
            "template": template.and_then(|template| template.file.as_ref()),
            "templateCommit": template.and_then(|template| template.change.as_ref()).map(|change| &change.id),
            "claims": claims(traced),
            "otherWriters": writers,
        })
    }
}

fn shown(kind: &Kind, object: &DynamicObject) -> String {
    let namespace = object.namespace().map_or_else(String::new, |namespace| namespace + "/");
    let dot = if kind.resource.group.is_empty() { "" } else { "." };
    format!("{}{dot}{} {namespace}{}", kind.resource.kind, kind.resource.group, object.name_any())
}

fn writer_line(writer: &Writer, now: Timestamp) -> String {
    let ago = writer.at.map_or_else(String::new, |at| format!(", {} ago", age(at, now)));
    let more = if writer.more > 0 { format!(" and {} more", writer.more) } else { String::new() };
    let fields = if writer.fields.is_empty() { String::new() } else { format!(": {}{more}", writer.fields.join(", ")) };
    format!("{} ({}{ago}){fields}", writer.manager, writer.operation)
}
