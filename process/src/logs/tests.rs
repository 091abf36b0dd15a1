use std::sync::{Arc, Mutex};

use serde_json::Value;
use tracing::{debug, error, info, info_span, trace, warn};

use super::*;

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(line)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written(filter: &str, style: LogStyle, act: impl FnOnce()) -> Vec<String> {
    let page = Page::default();
    let to = page.clone();
    let subscriber = subscriber(&filter.parse().unwrap(), style, move || to.clone());
    tracing::subscriber::with_default(subscriber, act);
    let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_json_line_is_one_object_with_the_fields_at_its_top() {
    let lines = written("info", LogStyle::Json, || {
        let _span = info_span!("apply", runtime = "blue").entered();
        info!(changed = 3, revision = "main@1", "applied\nall");
    });

    let [line] = &lines[..] else { panic!("not one line: {lines:?}") };
    let object: Value = serde_json::from_str(line).unwrap();
    assert_eq!(object["level"], "INFO");
    assert_eq!(object["message"], "applied\nall");
    assert_eq!(object["target"], "reeve_process::logs::tests");
    assert_eq!((&object["changed"], &object["revision"]), (&Value::from(3), &Value::from("main@1")));
    assert_eq!(object["span"]["runtime"], "blue");
    assert!(object["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
}

#[test]
fn colour_is_written_only_where_it_is_wanted() {
    let plain = written("info", LogStyle::Human { colour: false }, || info!("hello"));
    let coloured = written("info", LogStyle::Human { colour: true }, || info!("hello"));
    assert!(!plain[0].contains('\u{1b}') && plain[0].contains("hello"));
    assert!(coloured[0].contains('\u{1b}'));
}

#[test]
fn credentials_do_not_reach_the_log() {
    let lines = written("info", LogStyle::Json, || {
        info!(url = "https://bot:s3cret@git.example/fleet", "fetching");
        warn!("sent Authorization: Bearer s3cret");
    });
    assert!(lines.len() == 2 && lines.iter().all(|line| !line.contains("s3cret")), "{lines:?}");
}

#[test]
fn a_plain_level_is_for_reeve_and_leaves_libraries_at_info() {
    let lines = written("trace", LogStyle::Json, || {
        trace!("ours");
        trace!(target: "hyper::proto::h1", "headers");
        error!(target: "kube_client::client::builder", "failed with error client error (Connect)");
        warn!(target: "kube_runtime::watcher", "watch list error with 403");
        info!(target: "rustls", "kept");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_library_that_is_named_speaks() {
    let lines = written("info,kube_client=debug", LogStyle::Json, || {
        debug!(target: "kube_client::client::builder", "requesting");
        debug!("ours");
    });
    assert!(lines.len() == 1 && lines[0].contains("requesting"), "{lines:?}");
}

#[test]
fn response_bodies_that_kube_prints_are_dropped_even_when_named() {
    let lines = written("trace,kube_client=trace,kube_client::client=trace", LogStyle::Json, || {
        warn!(target: "kube_client::client", "{{\"kind\":\"Secret\",\"data\":{{}}}}, expected value");
        error!(target: "kube_client::client", "kept");
    });
    assert!(lines.len() == 1 && lines[0].contains("kept"), "{lines:?}");
}

#[test]
fn an_empty_filter_is_the_default_one() {
    assert_eq!("".parse::<LogFilter>().unwrap(), LogFilter::default());
}
