//! Functions of Helm that are not offered: those whose result is another on every render, and those that ask the world.
//!
//! A commit renders to the same objects everywhere and at any time, so there is no clock, no chance, no network and no
//! cluster to ask. Each refusal says what to use instead.

use crate::failure::Failure;

const CLOCK: &str = "a commit renders the same at any time; write the time into the values, and format it with `date`";
const CHANCE: &str =
    "a commit renders the same every time; let a Secret be made in the runtime, and refer to it by name";
const CHOSEN: &str = "a commit renders the same every time; write the value into the values";
const ORDER: &str = "a commit renders the same every time; use `sortAlpha` or write the order into the values";
const CERTIFICATE: &str =
    "keys and certificates do not belong into a repository; let cert-manager or the like make a Secret in the runtime";
const SALTED: &str = "it is salted by chance; write the finished hash into a Secret, and refer to it by name";
const PASSWORD: &str = "a master password does not belong into a repository; refer to a Secret by name";
const CIPHER: &str = "keys do not belong into a repository; refer to a Secret by name";
const CLUSTER: &str =
    "a commit renders the same in front of any cluster; use `Runtime` and `Capabilities` for what is known of it";
const NETWORK: &str = "a commit renders the same on any network; write the address into the values";
const ENVIRONMENT: &str = "a commit renders the same in any environment; write the value into the values";
const CALL: &str = "values hold no functions; write a macro";
const GREETING: &str = "write the text itself";

/// Each name, and why not and what instead.
static NAMES: &[(&str, &str)] = &[
    ("ago", CLOCK),
    ("bcrypt", SALTED),
    ("buildCustomCert", CERTIFICATE),
    ("call", CALL),
    ("decryptAES", CIPHER),
    ("derivePassword", PASSWORD),
    ("encryptAES", CIPHER),
    ("env", ENVIRONMENT),
    ("expandenv", ENVIRONMENT),
    ("genCA", CERTIFICATE),
    ("genCAWithKey", CERTIFICATE),
    ("genPrivateKey", CERTIFICATE),
    ("genSelfSignedCert", CERTIFICATE),
    ("genSelfSignedCertWithKey", CERTIFICATE),
    ("genSignedCert", CERTIFICATE),
    ("genSignedCertWithKey", CERTIFICATE),
    ("getHostByName", NETWORK),
    ("hello", GREETING),
    ("htpasswd", SALTED),
    ("lookup", CLUSTER),
    ("now", CLOCK),
    ("randAlpha", CHANCE),
    ("randAlphaNum", CHANCE),
    ("randAscii", CHANCE),
    ("randBytes", CHANCE),
    ("randInt", CHOSEN),
    ("randNumeric", CHANCE),
    ("shuffle", ORDER),
    ("uuidv4", CHOSEN),
];

/// Why there is no function of this name, if Helm has one.
pub fn refused(name: &str) -> Option<Failure> {
    let (name, instead) = NAMES.iter().find(|(refused, _)| *refused == name)?;
    Some(Failure::Refused { name, instead })
}

/// All refused names, in their order, with what to use instead.
pub fn all() -> &'static [(&'static str, &'static str)] {
    NAMES
}

#[cfg(test)]
mod tests {
    use super::{all, refused};

    #[test]
    fn a_refusal_says_what_to_use_instead() {
        let message = refused("lookup").unwrap().to_string();
        assert!(message.starts_with("`lookup` is not available: a commit renders the same in front of any cluster"));
        assert!(refused("toYaml").is_none());
    }

    #[test]
    fn no_refused_name_is_a_function_too() {
        assert!(all().is_sorted_by_key(|(name, _)| *name));
        for (name, _) in all() {
            assert!(crate::functions::find(name).is_none(), "{name}");
        }
    }
}
