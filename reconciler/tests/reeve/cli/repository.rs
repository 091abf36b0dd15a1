//! A fleet repository in a temporary folder, and `reeve` run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A small fleet: a chart with a template and a plain file, a layer, two runtimes.
pub(crate) const FLEET: &[(&str, &str)] = &[
    ("fleet.yaml", "kind: Fleet\ndefaults:\n  channel: regular\nlayers:\n  - name: base\ncomponents:\n  web: {}\n"),
    ("channels/regular.yaml", "kind: Channel\ncomponents:\n  web: 1.0.0\n"),
    ("layers/base.yaml", "kind: Layer\nvalues:\n  replicas: 2\n"),
    ("charts/web/1.0.0/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
    ("charts/web/1.0.0/values.yaml", "replicas: 1\nimage:\n  repository: nginx\n  tag: \"1\"\n"),
    (
        "charts/web/1.0.0/values.schema.json",
        "{ \"type\": \"object\", \"properties\": { \"replicas\": { \"type\": \"integer\", \"minimum\": 0 } } }\n",
    ),
    (
        "charts/web/1.0.0/templates/deployment.yaml.j2",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ Component.name }}\nspec:\n  \
         replicas: {{ Values.replicas }}\n  image: {{ Values.image.repository }}:{{ Values.image.tag }}\n",
    ),
    (
        "charts/web/1.0.0/templates/settings.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n---\napiVersion: v1\nkind: ConfigMap\n\
         metadata:\n  name: second\ndata:\n  a: b\n",
    ),
    ("runtimes/eu-1.yaml", "kind: Runtime\n"),
    (
        "runtimes/eu-2.yaml",
        "kind: Runtime\ncomponents:\n  web:\n    values:\n      replicas: 5\n      image:\n        tag: \"2\"\n",
    ),
];

/// A folder that goes when it is dropped.
pub(crate) struct Repository {
    folder: TempDir,
}

/// How `reeve` ended.
pub(crate) struct Ended {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Repository {
    /// The small fleet.
    pub(crate) fn fleet() -> Self {
        let this = Self::empty();
        for (path, text) in FLEET {
            this.write(path, text);
        }
        this
    }

    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.file(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Replaces text that must be there.
    pub(crate) fn change(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.file(path)).unwrap();
        assert!(text.contains(from), "{path} does not contain {from}");
        fs::write(self.file(path), text.replace(from, to)).unwrap();
    }

    /// Commits everything and gives the id.
    pub(crate) fn commit(&self) -> String {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&[&who[..], &["commit", "--quiet", "--allow-empty", "--message", "x"]].concat());
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git").args(args).current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reeve"));
        command.args(args).current_dir(self.path()).env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }

    /// Runs `reeve` in the folder.
    pub(crate) fn reeve(&self, args: &[&str]) -> Ended {
        ended(self.command(args).output().unwrap())
    }
}

pub(crate) fn ended(output: Output) -> Ended {
    Ended {
        status: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Ended {
    /// Fails with all that was said unless it ended so.
    #[track_caller]
    pub(crate) fn with(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "out:\n{}\nerr:\n{}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
