//! `reeve chart`: charts from folders, archives and Helm repositories; registries are in `registry`.

mod registry;
mod shelf;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::repository::Repository;
use shelf::Shelf;

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  text: {{ .Values.text | quote }}\n";

/// The files of the chart `note`.
fn note(version: &str) -> Vec<(String, Vec<u8>)> {
    [
        ("Chart.yaml", format!("apiVersion: v2\nname: note\nversion: {version}\n")),
        ("values.yaml", format!("text: from {version}\n")),
        ("templates/note.yaml", TEMPLATE.to_owned()),
    ]
    .into_iter()
    .map(|(name, text)| (format!("note/{name}"), text.into_bytes()))
    .collect()
}

/// An archive of these entries, whatever their names.
fn pack(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, content.as_slice()).unwrap();
    }
    let mut encoder = tar.into_inner().unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// A fleet, and beside it a place for what is imported.
fn fleet() -> (Repository, Repository) {
    (Repository::fleet(), Repository::empty())
}

fn write(at: &Repository, name: &str, bytes: &[u8]) -> String {
    let path = at.file(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

fn read(fleet: &Repository, path: &str) -> String {
    std::fs::read_to_string(fleet.file(path)).unwrap()
}

#[test]
fn a_chart_is_imported_from_a_folder_and_from_an_archive_with_a_note_of_it() {
    let (fleet, beside) = fleet();
    for (name, content) in note("1.0.0") {
        write(&beside, &name, &content);
    }
    let folder = beside.file("note").display().to_string();
    let ended = fleet.reeve(&["chart", "import", &folder]).with(0);
    assert!(ended.out.starts_with("imported note 1.0.0 into charts/note/1.0.0 (sha256:"), "{}", ended.out);
    assert_eq!(read(&fleet, "charts/note/1.0.0/templates/note.yaml"), TEMPLATE);
    assert!(read(&fleet, "charts/note/1.0.0.lock").contains(&format!("origin: \"{folder}\"")));

    let bytes = pack(&note("1.1.0"));
    let archive = write(&beside, "note-1.1.0.tgz", &bytes);
    fleet.reeve(&["chart", "import", &archive]).with(0);
    let lock = read(&fleet, "charts/note/1.1.0.lock");
    assert!(lock.contains(&format!("digest: \"sha256:{}\"", digest(&bytes))), "{lock}");
    fleet.reeve(&["validate"]).with(0);

    let again = fleet.reeve(&["chart", "import", &archive]).with(2);
    assert!(again.err.contains("is there already"), "{}", again.err);
}

#[test]
fn what_will_not_work_is_named_at_once() {
    let (fleet, beside) = fleet();
    let mut files = note("1.0.0");
    files.push((
        "note/templates/secret.yaml".to_owned(),
        b"{{ if lookup \"v1\" \"Secret\" \"\" \"x\" }}{{ end }}\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: {{ randAlphaNum 9 | b64enc }}\n".to_vec(),
    ));
    let archive = write(&beside, "note.tgz", &pack(&files));
    let ended = fleet.reeve(&["chart", "import", &archive]).with(0);
    for said in ["`lookup` finds nothing here", "the chart calls `randAlphaNum`", "does not render", "secret.yaml:6:9"]
    {
        assert!(ended.out.contains(said), "{said}: {}", ended.out);
    }
    let mut files = note("2.0.0");
    files.push(("note/templates/broken.yaml".to_owned(), b"a: {{ nothing . }}\n".to_vec()));
    let archive = write(&beside, "broken.tgz", &pack(&files));
    let ended = fleet.reeve(&["chart", "import", &archive]).with(1);
    assert!(ended.out.contains("`nothing`"), "{}", ended.out);
}

#[test]
fn nothing_is_written_of_what_is_damaged_or_leads_out_of_the_chart() {
    let (fleet, beside) = fleet();
    let whole = pack(&note("1.0.0"));
    let mut slip = note("1.0.0");
    slip.push(("note/../../../escaped".to_owned(), b"x".to_vec()));
    for (name, bytes, said) in [
        ("cut.tgz", whole[..whole.len() / 2].to_vec(), "the archive is damaged"),
        ("text.tgz", b"no archive".to_vec(), "it is no gzip archive"),
        ("slip.tgz", pack(&slip), "which leads out of the chart"),
        ("empty.tgz", pack(&[]), "it has no Chart.yaml"),
        ("nameless.tgz", pack(&[("a/Chart.yaml".to_owned(), b"version: 1.0.0\n".to_vec())]), "has no name"),
    ] {
        let archive = write(&beside, name, &bytes);
        let ended = fleet.reeve(&["chart", "import", &archive]).with(2);
        assert!(ended.err.contains(said), "{name}: {}", ended.err);
        assert!(!fleet.file("charts/note").exists(), "{name}");
    }
    std::fs::create_dir_all(beside.file("linked")).unwrap();
    write(&beside, "linked/Chart.yaml", b"name: linked\nversion: 1.0.0\n");
    std::os::unix::fs::symlink("/etc/passwd", beside.file("linked/files")).unwrap();
    let linked = beside.file("linked").display().to_string();
    assert!(fleet.reeve(&["chart", "import", &linked]).with(2).err.contains("is a link"));
}

#[test]
fn a_folder_or_an_archive_is_refused_if_it_is_not_the_chart_or_version_that_was_asked_for() {
    let (fleet, beside) = fleet();
    let archive = write(&beside, "note.tgz", &pack(&note("1.2.0")));
    for (name, content) in note("1.2.0") {
        write(&beside, &name, &content);
    }
    for place in [archive, beside.file("note").display().to_string()] {
        let other = fleet.reeve(&["chart", "import", &place, "--version", "^2"]).with(2);
        assert!(other.err.contains(&format!("the chart at {place} is 1.2.0, not ^2")), "{}", other.err);
        let other = fleet.reeve(&["chart", "import", &place, "web"]).with(2);
        assert!(other.err.contains("is `note`, not `web`"), "{}", other.err);
        assert!(!fleet.file("charts/note").exists());
        fleet.reeve(&["chart", "import", &place, "note", "--version", "^1.1"]).with(0);
        std::fs::remove_dir_all(fleet.file("charts/note")).unwrap();
    }
}

#[test]
fn what_would_steer_git_is_left_out_and_a_name_with_control_characters_is_refused() {
    let (fleet, beside) = fleet();
    let mut files = note("1.0.0");
    for name in ["note/.git/config", "note/.gitignore", "note/charts/.GitAttributes", "note/.gitkeep"] {
        files.push((name.to_owned(), b"*".to_vec()));
    }
    for (name, content) in &files {
        write(&beside, name, content);
    }
    let archive = write(&beside, "note.tgz", &pack(&files));
    for place in [archive, beside.file("note").display().to_string()] {
        let ended = fleet.reeve(&["chart", "import", &place]).with(0);
        assert!(ended.out.contains("left out what is for Git: "), "{}", ended.out);
        let is_there = |name: &str| fleet.file("charts/note/1.0.0").join(name).exists();
        assert!(is_there(".gitkeep") && !is_there(".git") && !is_there(".gitignore"));
        assert!(!is_there("charts/.GitAttributes"));
        std::fs::remove_dir_all(fleet.file("charts/note")).unwrap();
    }
    let mut files = note("1.0.0");
    files.push(("note/a\u{1b}[2J".to_owned(), b"x".to_vec()));
    let archive = write(&beside, "odd.tgz", &pack(&files));
    let ended = fleet.reeve(&["chart", "import", &archive]).with(2);
    assert!(ended.err.contains("`note/a\\u{1b}[2J`, whose name has control characters"), "{}", ended.err);
}

#[test]
fn an_import_that_cannot_be_written_leaves_nothing() {
    let (fleet, place) = fleet();
    let mut files = note("1.0.0");
    // A file that is a folder too.
    files.extend(["note/a", "note/a/b"].map(|name| (name.to_owned(), b"x".to_vec())));
    let archive = write(&place, "note.tgz", &pack(&files));
    let told = fleet.reeve(&["chart", "import", &archive]).with(2);
    assert!(told.err.contains("note/.1.0.0.partial/a"), "{}", told.err);
    let left = std::fs::read_dir(fleet.file("charts/note")).map(Iterator::count).unwrap_or_default();
    assert_eq!(left, 0, "{}", told.err);
}

/// A Helm repository with these versions of `note`, the last with a digest of its own.
fn shelf(versions: &[&str], last_digest: Option<&str>, door: Option<(&str, &str)>) -> Shelf {
    let mut index = "apiVersion: v1\nentries:\n  note:\n".to_owned();
    let mut files = Vec::new();
    for (at, version) in versions.iter().enumerate() {
        let bytes = pack(&note(version));
        let digest = last_digest.filter(|_| at + 1 == versions.len()).map_or_else(|| digest(&bytes), str::to_owned);
        let entry =
            format!("  - name: note\n    version: {version}\n    digest: {digest}\n    urls: [note-{version}.tgz]\n");
        index.push_str(&entry);
        files.push((format!("/charts/note-{version}.tgz"), bytes));
    }
    files.push(("/charts/index.yaml".to_owned(), index.into_bytes()));
    Shelf::open(files, door)
}

#[test]
fn a_chart_is_imported_from_a_helm_repository() {
    let (fleet, _) = fleet();
    let shelf = shelf(&["1.0.0", "1.2.0", "2.0.0-rc.1"], None, None);
    let url = shelf.url("/charts/");
    fleet.reeve(&["chart", "import", &url, "note"]).with(0);
    assert!(read(&fleet, "charts/note/1.2.0.lock").contains("chart: \"note\""));
    fleet.reeve(&["chart", "import", &url, "note", "--version", "~1.0"]).with(0);
    assert!(fleet.file("charts/note/1.0.0/Chart.yaml").exists());
    let ended = fleet.reeve(&["chart", "import", &url, "note", "--version", "^3"]).with(2);
    assert!(ended.err.contains("no version of `note` that fits ^3"), "{}", ended.err);
    assert!(fleet.reeve(&["chart", "import", &url, "other"]).with(2).err.contains("there is no `other`"));
    assert!(fleet.reeve(&["chart", "import", &url]).with(2).err.contains("none was named"));
    let ended = fleet.reeve(&["chart", "import", &shelf.url("/nowhere"), "note"]).with(2);
    assert!(ended.err.contains("answered 404"), "{}", ended.err);
}

#[test]
fn a_helm_repository_may_ask_who_is_there() {
    let (fleet, _) = fleet();
    let shelf = shelf(&["1.0.0"], None, Some(("ann", "sesame")));
    let url = shelf.url("/charts");
    let ended = fleet.reeve(&["chart", "import", &url, "note"]).with(2);
    assert!(ended.err.contains("answered 401") && ended.err.contains("REEVE_CHART_USERNAME"), "{}", ended.err);
    let mut command = fleet.command(&["chart", "import", &url, "note"]);
    let known = command.env("REEVE_CHART_USERNAME", "ann").env("REEVE_CHART_PASSWORD", "sesame");
    super::repository::ended(known.output().unwrap()).with(0);
}

#[test]
fn an_archive_that_is_not_the_one_announced_is_refused() {
    let (fleet, _) = fleet();
    let shelf = shelf(&["1.0.0"], Some(&"0".repeat(64)), None);
    let ended = fleet.reeve(&["chart", "import", &shelf.url("/charts"), "note"]).with(2);
    assert!(ended.err.contains("was announced"), "{}", ended.err);
    assert!(!fleet.file("charts/note").exists());
}

#[test]
fn a_folder_is_found_again_from_wherever_an_update_is_asked_for() {
    let (fleet, beside) = fleet();
    let lay = |version: &str| {
        for (name, content) in note(version) {
            write(&beside, &name, &content);
        }
    };
    lay("1.0.0");
    let (at, from) = (fleet.file("").display().to_string(), beside.file("").display().to_string());
    fleet.reeve(&["chart", "import", "-C", &from, "--fleet", &at, "note"]).with(0);
    let lock = read(&fleet, "charts/note/1.0.0.lock");
    assert!(lock.contains("origin: \"../") && lock.contains("/note\""), "{lock}");
    let ended = fleet.reeve(&["chart", "update", "note"]).with(0);
    assert!(
        ended.out.starts_with("note 1.0.0 is the newest at ../") && ended.out.lines().count() == 1,
        "{}",
        ended.out
    );
    write(&beside, "note/values.yaml", b"text: other\n");
    let ended = fleet.reeve(&["chart", "update", "note"]).with(0);
    assert!(ended.out.contains("is not what was imported"), "{}", ended.out);
    lay("1.1.0");
    for place in [&at, &from] {
        let ended = fleet.reeve(&["chart", "update", "-C", place, "--fleet", &at, "note"]).with(0);
        assert!(ended.out.starts_with("note 1.0.0 -> 1.1.0 from ../"), "{}", ended.out);
    }
    std::fs::remove_dir_all(beside.file("note")).unwrap();
    let ended = fleet.reeve(&["chart", "update", "note"]).with(2);
    assert!(ended.err.contains("there is neither a folder nor an archive"), "{}", ended.err);
}

#[test]
fn an_update_shows_what_becomes_of_the_rendered_fleet() {
    let (fleet, _) = fleet();
    let shelf = shelf(&["1.0.0", "1.1.0"], None, None);
    fleet.reeve(&["chart", "import", &shelf.url("/charts"), "note", "--version", "1.0.0"]).with(0);
    fleet.change("channels/regular.yaml", "web: 1.0.0", "web: 1.0.0\n  note: 1.0.0");
    fleet.change("fleet.yaml", "  web: {}", "  web: {}\n  note: {}");
    fleet.reeve(&["validate"]).with(0);
    let ended = fleet.reeve(&["chart", "update", "note"]).with(1);
    assert!(ended.out.starts_with("note 1.0.0 -> 1.1.0 from http://"), "{}", ended.out);
    for said in ["from 1.0.0", "from 1.1.0", "eu-1"] {
        assert!(ended.out.contains(said), "{said}: {}", ended.out);
    }
    assert!(!fleet.file("charts/note/1.1.0").exists());
    fleet.reeve(&["chart", "update", "note", "--write"]).with(0);
    assert!(fleet.file("charts/note/1.1.0/Chart.yaml").exists());
    let ended = fleet.reeve(&["chart", "update", "note"]).with(1);
    assert!(ended.out.starts_with("note 1.1.0 is the newest at http://"), "{}", ended.out);
    assert!(ended.out.contains("whoever has an older one") && ended.out.contains("from 1.0.0"), "{}", ended.out);
    fleet.change("channels/regular.yaml", "note: 1.0.0", "note: 1.1.0");
    std::fs::remove_dir_all(fleet.file("charts/note/1.0.0")).unwrap();
    let ended = fleet.reeve(&["chart", "update", "note"]).with(0);
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
    assert!(fleet.reeve(&["chart", "update", "web"]).with(2).err.contains("was not imported"));
}

#[test]
fn an_update_goes_back_only_when_it_is_told_to() {
    let (fleet, beside) = fleet();
    let lay = |version: &str| {
        for (name, content) in note(version) {
            write(&beside, &name, &content);
        }
    };
    lay("v1.1.0");
    let folder = beside.file("note").display().to_string();
    fleet.reeve(&["chart", "import", &folder, "--version", "v1.1.0"]).with(0);
    lay("1.0.0");
    let ended = fleet.reeve(&["chart", "update", "note", "--write"]).with(0);
    assert!(ended.out.contains("is 1.0.0, older than 1.1.0, which is here"), "{}", ended.out);
    assert!(!fleet.file("charts/note/1.0.0").exists());
    let ended = fleet.reeve(&["chart", "update", "note", "--version", "v1.0.0", "--write"]).with(0);
    assert!(ended.out.starts_with("note 1.1.0 -> 1.0.0 from "), "{}", ended.out);
    assert!(fleet.file("charts/note/1.0.0/Chart.yaml").exists());
}

#[test]
fn a_chart_that_was_changed_after_its_import_is_named_until_its_lock_allows_it() {
    let (fleet, beside) = fleet();
    let archive = write(&beside, "note.tgz", &pack(&note("1.0.0")));
    fleet.reeve(&["chart", "import", &archive]).with(0);
    let is_named =
        || fleet.reeve(&["validate"]).with(0).out.contains("warning[chart-changed]: charts/note/1.0.0 is not");
    assert!(!is_named());
    fleet.change("charts/note/1.0.0/values.yaml", "text:", "# ours\ntext:");
    assert!(is_named());
    write(&beside, "note.tgz", &pack(&note("1.1.0")));
    let ended = fleet.reeve(&["chart", "update", "note"]).with(0);
    assert!(ended.out.contains("charts/note/1.0.0 was changed here after its import"), "{}", ended.out);
    let lock = read(&fleet, "charts/note/1.0.0.lock");
    let kept: Vec<&str> = lock.lines().filter(|line| !line.starts_with("files:")).collect();
    write(&fleet, "charts/note/1.0.0.lock", kept.join("\n").as_bytes());
    assert!(!is_named());
}

#[test]
fn what_a_killed_import_left_is_no_chart() {
    let (fleet, beside) = fleet();
    let archive = write(&beside, "note.tgz", &pack(&note("1.0.0")));
    fleet.reeve(&["chart", "import", &archive]).with(0);
    // Killed before its folder was moved in, and after its lock was written.
    let folder = fleet.file("charts/note/1.0.0");
    std::fs::rename(&folder, fleet.file("charts/note/.1.0.0.partial")).unwrap();
    fleet.reeve(&["validate"]).with(0);
    assert!(fleet.reeve(&["chart", "update", "note"]).with(2).err.contains("was not imported"));
    fleet.reeve(&["chart", "import", &archive]).with(0);
    assert!(folder.join("Chart.yaml").exists() && !fleet.file("charts/note/.1.0.0.partial").exists());
}

#[test]
fn a_chart_that_cannot_be_had_is_named_with_what_to_do() {
    let (fleet, beside) = fleet();
    for (chart, said) in [
        ("name: a\n  version: 1\n", "is no chart: its Chart.yaml is wrong in line 2"),
        ("name: a\n", "is no chart: its Chart.yaml has no version"),
    ] {
        write(&beside, "broken/Chart.yaml", chart.as_bytes());
        let place = beside.file("broken").display().to_string();
        let ended = fleet.reeve(&["chart", "import", &place]).with(2);
        assert!(ended.err.contains(&format!("{place} {said}")), "{}", ended.err);
    }
    let shelf = shelf(&["1.0.0"], None, None);
    let (open, closed) = (shelf.url("/charts"), "http://127.0.0.1:1/charts");
    let secure = open.replace("http://", "https://");
    let known = open.replace("http://", "http://ann:sesame@");
    for (place, said, help) in [
        ("", "no place was named", "name a folder"),
        ("./nowhere", "there is neither a folder nor an archive ./nowhere", "check the path"),
        (closed, "cannot connect to", "whether it can be reached"),
        (&secure, "cannot connect to", "speaks no TLS"),
        (&known, "has a name or password in it", "REEVE_CHART_USERNAME"),
    ] {
        let ended = fleet.reeve(&["chart", "import", place, "note"]).with(2);
        assert!(ended.err.contains(said) && ended.err.contains(help), "{place}: {}", ended.err);
        assert!(!ended.err.contains("sesame"), "{}", ended.err);
    }
}
