//! Any bytes as a request of kubelet's, and any bytes as a plugin's answer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first byte says where the answer begins.
    let Some((at, rest)) = bytes.split_first() else { return };
    let (request, answer) = rest.split_at(usize::from(*at).min(rest.len()));
    reeve_proxy_cri::fuzzing::splice_law(request, answer);
});
