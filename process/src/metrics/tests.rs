use prometheus_client::metrics::counter::Counter;

use super::*;

fn value<'a>(page: &'a str, series: &str) -> &'a str {
    let found = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    found.unwrap_or_else(|| panic!("no {series} in\n{page}"))
}

#[test]
fn build_info_says_what_runs() {
    let page = Metrics::new("reeve-agent").encode().unwrap();
    let labels = format!(r#"{{version="{}",commit="{}",binary="reeve-agent"}}"#, version::VERSION, version::COMMIT);
    assert_eq!(value(&page, &format!("reeve_build_info{labels}")), "1");
    assert!(page.ends_with("# EOF\n"));
}

#[test]
fn the_process_is_measured_on_every_scrape() {
    let metrics = Metrics::new("reeve");
    let page = metrics.encode().unwrap();
    for series in ["process_resident_memory_bytes", "process_threads", "process_open_fds", "process_start_time_seconds"]
    {
        assert!(value(&page, series).parse::<f64>().unwrap() > 0.0, "{series}");
    }
    assert!(value(&page, "process_cpu_seconds_total").parse::<f64>().unwrap() >= 0.0);

    let open = |page: &str| value(page, "process_open_fds").parse::<i64>().unwrap();
    let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    let more = open(&metrics.encode().unwrap());
    drop(files);
    // Other tests of this binary open and close files too, but not so many.
    assert!(more >= open(&page) + 25, "{more} after {}", open(&page));
}

#[test]
fn a_registered_metric_carries_the_prefix_and_counts() {
    let metrics = Metrics::new("reeve");
    let renewals = metrics.register("renewals", "Renewals", Counter::<u64>::default());
    renewals.inc_by(3);
    assert_eq!(value(&metrics.encode().unwrap(), "reeve_renewals_total"), "3");
}
