//! Any bytes as a registration file and as a hook set.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| reeve_proxy_cri::fuzzing::registrations(text));
