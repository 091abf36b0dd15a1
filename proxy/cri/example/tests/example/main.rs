//! The program as people start it. That it is tested here also has Cargo build it for the tests of the proxy.

use std::process::Command;

#[test]
fn classes_that_cannot_be_used_are_named_with_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let classes = folder.path().join("classes.json");
    let run = || {
        let mut program = Command::new(env!("CARGO_BIN_EXE_reeve-cri-example"));
        program.arg("--admin-address=none").arg("--classes").arg(&classes);
        let output = program.arg("--listen").arg(folder.path().join("hook.sock")).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
    };
    let missing = run();
    assert!(missing.contains("cannot read") && missing.contains("classes.json"), "{missing}");
    std::fs::write(&classes, "{").unwrap();
    let broken = run();
    assert!(broken.contains("cannot use") && broken.contains("classes.json"), "{broken}");
}
