//! The CRI proxy `reeve-cri`.

use std::process::ExitCode;

fn main() -> ExitCode {
    reeve_process::heap::use_one_arena();
    reeve_proxy_cri::args::Args::from_command_line().run()
}
