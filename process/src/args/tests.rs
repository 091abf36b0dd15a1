use clap::{CommandFactory, Parser};

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    process: ProcessArgs,
}

fn parse(args: &[&str]) -> Result<ProcessArgs, String> {
    let args = std::iter::once("reeve").chain(args.iter().copied());
    Cli::try_parse_from(args).map(|cli| cli.process).map_err(|error| error.to_string())
}

#[test]
fn the_flags_fit_together() {
    Cli::command().debug_assert();
}

#[test]
fn durations_and_addresses_are_read_as_people_write_them() {
    let args =
        parse(&["--drain-delay", "1m30s", "--shutdown-deadline", "500ms", "--admin-address", "[::1]:80"]).unwrap();
    assert_eq!(args.drain_delay, Duration::from_secs(90));
    assert_eq!(args.shutdown_deadline, Duration::from_millis(500));
    assert_eq!(args.admin_address.to_string(), "[::1]:80");
    assert_eq!(parse(&["--admin-address", "none"]).unwrap().admin_address, AdminAddress::None);
}

#[test]
fn a_wrong_value_is_refused_with_the_flag_and_the_form_wanted() {
    let cases = [
        (["--log", "reeve=loud"], "--log <FILTER>", "loud"),
        (["--drain-delay", "soon"], "--drain-delay <DURATION>", "25s, 500ms"),
        (["--shutdown-deadline", "-3s"], "--shutdown-deadline", "negative"),
        (["--admin-address", "9464"], "--admin-address <ADDRESS>", "127.0.0.1:9464"),
    ];
    for ([flag, value], names, says) in cases {
        let error = parse(&[&format!("{flag}={value}")]).unwrap_err();
        assert!(error.contains(names) && error.contains(says), "{flag} {value}: {error}");
    }
}
