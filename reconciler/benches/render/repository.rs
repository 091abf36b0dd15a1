//! Repositories to measure with: values that differ, and a fleet of many runtimes in Git.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::chart;

/// The charts of the fleet, which of the templates each has (all if none is named), and whether every runtime has values
/// of its own for it.
const CHARTS: [(&str, &[&str], bool); 5] = [
    ("orders", &[], true),
    ("gateway", &["_shop", "deployment", "service", "ingress", "configmap", "serviceaccount", "networkpolicy"], true),
    ("metrics", &["_shop", "deployment", "service", "configmap", "serviceaccount", "rbac"], false),
    ("logging", &["_shop", "deployment", "configmap", "serviceaccount", "rbac"], false),
    ("certificates", &["_shop", "deployment", "service", "serviceaccount", "rbac"], false),
];

const REGIONS: usize = 10;
/// The runtimes that name the layer `canary`.
pub(crate) const CANARIES: usize = 10;

/// The values of a release; no two are alike.
pub(crate) fn shop_values(number: usize) -> String {
    let mut text = format!(
        "team: team-{team}\nreplicaCount: {replicas}\nimage:\n  tag: 2.{minor}.{patch}\n  pullSecrets: [registry]\n\
         commonLabels:\n  cost-center: cc-{team}\n  stage: prod\ncommonAnnotations:\n  example.com/owner: team-{team}\n\
         podAnnotations:\n  prometheus.io/scrape: \"true\"\n  prometheus.io/port: \"9090\"\n",
        team = number % 17,
        replicas = number % 5 + 2,
        minor = number % 7,
        patch = number % 11,
    );
    text.push_str("ingress:\n  hosts:\n");
    for host in 0..=number % 3 {
        let _ = write!(
            text,
            "    - host: shop-{number}-{host}.example.com\n      aliases: [www{host}.shop-{number}.example.com]\n      \
             paths:\n        - path: /\n        - path: /api\n          pathType: Exact\n          service: api-{number}\n"
        );
    }
    text.push_str("env:\n");
    for variable in 0..10 {
        let _ = writeln!(text, "  shop_setting_{variable}: value {variable} of {number}");
    }
    text.push_str("envFromSecret:\n  db_password: {secret: database, key: password}\n  api_token: {secret: api}\n");
    let _ = write!(
        text,
        "config:\n  log-level: info\n  endpoint: https://api-{number}.example.com/v1\n  workers: {}\n  \
         features: [search, cart, \"sale-{}\"]\n  database:\n    host: db-{}.internal\n    pool-size: {}\n",
        number % 8 + 1,
        number % 4,
        number % 23,
        number % 30 + 5
    );
    let _ = write!(
        text,
        "configFiles:\n  limits.yaml:\n    rate: {}\n    burst: 100\n  banner.txt: |\n    shop {number}\n    welcome\n\
         resources:\n  requests:\n    cpu: {}m\nautoscaling:\n  maxReplicas: {}\n  memory: {}\nnetworkPolicy:\n  \
         allowFrom:\n    - namespace: ingress\n      labels: {{app: nginx}}\n    - namespace: monitoring\n",
        number % 90 + 10,
        number % 10 * 50 + 50,
        number % 20 + 5,
        number % 2 * 80
    );
    let _ = write!(
        text,
        "tolerations:\n  - key: dedicated\n    operator: Equal\n    value: shop\n    effect: NoSchedule\njobs:\n  \
         - name: cleanup\n    schedule: \"{} 3 * * *\"\n    command: [shop, cleanup, --days, \"{}\"]\n    env:\n      \
         MODE: full\n",
        number % 60,
        number % 28 + 1
    );
    text
}

/// The text with every line further to the right.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let margin = " ".repeat(by);
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{margin}{line}");
        all
    })
}

/// Makes a bare Git repository with a fleet of so many runtimes, in one commit on `main`.
pub(crate) fn make(folder: &Path, runtimes: usize) -> Result<()> {
    git(folder, &["init", "--quiet", "--bare", "--initial-branch=main", "."], &[])?;
    let mut files = shared_files()?;
    files.extend((0..runtimes).map(runtime));
    commit(folder, &files, None)
}

/// Commits another version of the layer that only the canaries use.
pub(crate) fn change_canary(folder: &Path) -> Result<()> {
    commit(folder, &[("layers/canary.yaml".to_owned(), canary("changed"))], Some("main^0"))
}

fn canary(value: &str) -> String {
    format!("kind: Layer\ncomponents:\n  orders:\n    values:\n      env:\n        canary: {value}\n")
}

fn commit(folder: &Path, files: &[(String, String)], parent: Option<&str>) -> Result<()> {
    let mut stream =
        String::from("commit refs/heads/main\ncommitter Bench <bench@example.com> 0 +0000\ndata 5\nbench\n");
    if let Some(parent) = parent {
        let _ = writeln!(stream, "from refs/heads/{parent}");
    }
    for (path, text) in files {
        let _ = writeln!(stream, "M 100644 inline {path}\ndata {}\n{text}", text.len());
    }
    git(folder, &["fast-import", "--quiet"], stream.as_bytes())
}

fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<()> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start git")?;
    child.stdin.take().context("git takes no input")?.write_all(input).context("cannot write to git")?;
    if child.wait().context("cannot wait for git")?.success() { Ok(()) } else { bail!("git {arguments:?} failed") }
}

/// All files but those of the runtimes: five charts, twenty layers.
fn shared_files() -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    let mut settings =
        "kind: Fleet\ndefaults:\n  channel: stable\n  namespace: apps\nlayers:\n  - name: base\n".to_owned();
    let mut layer = |name: String, label: &str, value: String, text: String| {
        let _ = write!(settings, "  - name: {name}\n    selector:\n      matchLabels: {{{label}: {value}}}\n");
        (format!("layers/{name}.yaml"), format!("kind: Layer\nvalues:\n{text}"))
    };
    for region in 0..REGIONS {
        let text = format!("  commonLabels:\n    region: region-{region}\n  nodeSelector:\n    zone: zone-{region}\n");
        files.push(layer(format!("region-{region}"), "region", format!("region-{region}"), text));
    }
    for (stage, replicas) in [("prod", 3), ("staging", 1)] {
        let text = format!("  replicaCount: {replicas}\n  commonLabels:\n    stage: {stage}\n");
        files.push(layer(stage.to_owned(), "stage", stage.to_owned(), text));
    }
    for size in ["small", "medium", "large", "huge"] {
        let text = format!(
            "  commonLabels:\n    size: {size}\n  resources:\n    requests:\n      cpu: {}m\n",
            size.len() * 50
        );
        files.push(layer(format!("size-{size}"), "size", size.to_owned(), text));
    }
    for provider in ["cloud", "edge"] {
        let text = format!("  commonAnnotations:\n    example.com/provider: {provider}\n");
        files.push(layer(format!("on-{provider}"), "provider", provider.to_owned(), text));
    }
    let base = "  team: platform\n  config:\n    log-level: info\n  env:\n    cluster_domain: cluster.local\n";
    files.push(("layers/base.yaml".to_owned(), format!("kind: Layer\nvalues:\n{base}")));
    files.push(("layers/canary.yaml".to_owned(), canary("first")));
    settings.push_str("components:\n");
    let mut channel = "kind: Channel\ncomponents:\n".to_owned();
    for (name, templates, _) in CHARTS {
        let _ = writeln!(settings, "  {name}: {{}}");
        let _ = writeln!(channel, "  {name}: 1.0.0");
        let folder = format!("charts/{name}/1.0.0");
        let metadata = chart::metadata()?.replace("name: shop", &format!("name: {name}"));
        files.push((format!("{folder}/Chart.yaml"), metadata));
        files.push((format!("{folder}/values.yaml"), chart::values()?));
        for (file, text) in chart::files("jinja")? {
            let stem = file.split('.').next().unwrap_or_default();
            if templates.is_empty() || templates.contains(&stem) {
                files.push((format!("{folder}/templates/{file}"), text));
            }
        }
    }
    files.push(("fleet.yaml".to_owned(), settings));
    files.push(("channels/stable.yaml".to_owned(), channel));
    Ok(files)
}

pub(crate) fn runtime_name(number: usize) -> String {
    format!("store-{number:05}")
}

fn runtime(number: usize) -> (String, String) {
    let region = number % REGIONS;
    let stage = if number.is_multiple_of(4) { "staging" } else { "prod" };
    let size = ["small", "medium", "large", "huge"][number / 10 % 4];
    let provider = if number.is_multiple_of(3) { "edge" } else { "cloud" };
    let name = runtime_name(number);
    let mut text = format!(
        "kind: Runtime\nlabels:\n  region: region-{region}\n  stage: {stage}\n  size: {size}\n  provider: {provider}\n"
    );
    if number % 97 == 3 && number / 97 < CANARIES {
        text.push_str("layers: [canary]\n");
    }
    text.push_str("components:\n");
    for (component, _, _) in CHARTS.iter().filter(|(_, _, own)| *own) {
        let _ = write!(
            text,
            "  {component}:\n    values:\n      ingress:\n        hosts:\n          - host: {component}.{name}.example.com\n            \
             paths:\n              - path: /\n      env:\n        store: \"{number}\"\n      config:\n        store: {name}\n        \
             workers: {}\n",
            number % 8 + 1
        );
    }
    (format!("runtimes/region-{region}/{name}.yaml"), text)
}
