use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::message::cri::{KeyValue, LinuxContainerConfig, LinuxContainerResources};

fn varint(path: &'static [u32], tag: u32, value: Option<u64>) -> Edit {
    Edit { path, tag, key: None, value: value.map(Wire::Varint) }
}

fn entry(tag: u32, key: &str, value: Option<&str>) -> Edit {
    let entry = |value: &str| KeyValue { key: key.to_owned(), value: value.as_bytes().to_vec() }.encode_to_vec();
    Edit { path: &[], tag, key: Some(key.to_owned()), value: value.map(|value| Wire::Bytes(entry(value))) }
}

#[test]
fn a_field_is_replaced_wherever_it_is_and_however_often() {
    let first = LinuxContainerConfig {
        resources: Some(LinuxContainerResources { cpu_shares: 1, cpu_quota: 5, ..Default::default() }),
    };
    let second =
        LinuxContainerConfig { resources: Some(LinuxContainerResources { cpu_shares: 2, ..Default::default() }) };
    let message = [first.encode_to_vec(), second.encode_to_vec()].concat();
    let spliced = splice(&message, &[varint(&[1], 3, Some(1024))]).unwrap();
    let resources = LinuxContainerConfig::decode(spliced.as_slice()).unwrap().resources.unwrap();
    assert_eq!((resources.cpu_shares, resources.cpu_quota), (1024, 5));
    assert_eq!(spliced.windows(2).filter(|pair| pair[0] == 0x18).count(), 1, "one value of three is left");
}

#[test]
fn a_message_that_is_not_there_is_made_for_a_value_and_not_for_a_removal() {
    assert_eq!(splice(&[], &[varint(&[1, 2], 3, None)]).unwrap(), Vec::<u8>::new());
    let made = splice(&[], &[varint(&[1], 3, Some(7))]).unwrap();
    assert_eq!(LinuxContainerConfig::decode(made.as_slice()).unwrap().resources.unwrap().cpu_shares, 7);
}

#[test]
fn of_a_map_only_the_entries_of_that_key_change() {
    let before = LinuxContainerResources {
        unified: [("a", "1"), ("b", "2"), ("c", "3")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        ..Default::default()
    };
    let spliced = splice(&before.encode_to_vec(), &[entry(9, "a", Some("9")), entry(9, "b", None)]).unwrap();
    let after = LinuxContainerResources::decode(spliced.as_slice()).unwrap().unified;
    assert_eq!(after, [("a", "9"), ("c", "3")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
}

#[test]
fn fields_that_nobody_knows_survive_among_them_groups() {
    // Field 100 as bytes, 101 as a group with a varint in it, 102 as fixed32.
    let unknown = [0xa2, 0x06, 0x02, 0xff, 0xfe, 0xab, 0x06, 0x08, 0x05, 0xac, 0x06, 0xb5, 0x06, 1, 2, 3, 4];
    let message = [&unknown[..], &[0x18, 0x01]].concat();
    let spliced = splice(&message, &[varint(&[], 3, Some(2))]).unwrap();
    assert_eq!(spliced, [&unknown[..], &[0x18, 0x02]].concat());
}

proptest! {
    #[test]
    fn without_edits_every_message_stays_as_it_is(message in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(spliced) = splice(&message, &[]) {
            prop_assert_eq!(spliced, message);
        }
    }

    #[test]
    fn no_bytes_are_too_strange_to_splice(message in proptest::collection::vec(any::<u8>(), 0..300), tag in 1_u32..20) {
        let edits = [varint(&[1, 8], 1, Some(1)), varint(&[2], tag, None), entry(tag, "a", Some("b")), entry(6, "", None)];
        let _ = splice(&message, &edits);
    }
}
