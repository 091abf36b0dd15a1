//! The header of the PROXY protocol, by which a proxy tells whom a connection stands for. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// How a header of version 1 begins.
const TEXT: &[u8] = b"PROXY ";
/// As long as one may be.
const TEXT_BYTES: usize = 107;
/// How a header of version 2 begins.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// What follows the signature before the addresses: version, family, and how much follows.
const FIXED_BYTES: usize = 16;
/// Addresses and what proxies add to them; nobody adds that much.
const MORE_BYTES: usize = 4096;

/// What the beginning of a connection says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Parsed {
    /// It may be a header, and is not whole.
    More,
    /// A header of so many bytes. It may say nothing of the client, as those of health checks do.
    Header { length: usize, client: Option<SocketAddr> },
    /// It is none.
    Wrong,
}

pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let known = |begin: &[u8]| bytes.iter().zip(begin).all(|(read, wanted)| read == wanted);
    if known(TEXT) {
        return parse_text(bytes);
    }
    if known(SIGNATURE) {
        return parse_binary(bytes);
    }
    Parsed::Wrong
}

fn parse_text(bytes: &[u8]) -> Parsed {
    let within = bytes.get(..bytes.len().min(TEXT_BYTES)).unwrap_or_default();
    let Some(end) = within.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < TEXT_BYTES { Parsed::More } else { Parsed::Wrong };
    };
    let line = within.get(..end).and_then(|line| std::str::from_utf8(line).ok());
    let words: Vec<&str> = line.map(|line| line.split(' ').collect()).unwrap_or_default();
    let length = end + 2;
    match words[..] {
        ["PROXY", "UNKNOWN", ..] => Parsed::Header { length, client: None },
        ["PROXY", family, client, proxy, port, _] => {
            let (client, proxy) = (client.parse::<IpAddr>(), proxy.parse::<IpAddr>());
            let (Ok(client), Ok(proxy), Ok(port)) = (client, proxy, port.parse()) else { return Parsed::Wrong };
            let is_told = match family {
                "TCP4" => client.is_ipv4() && proxy.is_ipv4(),
                "TCP6" => client.is_ipv6() && proxy.is_ipv6(),
                _ => false,
            };
            if is_told { Parsed::Header { length, client: Some(SocketAddr::new(client, port)) } } else { Parsed::Wrong }
        }
        _ => Parsed::Wrong,
    }
}

fn parse_binary(bytes: &[u8]) -> Parsed {
    let Some([command, family, high, low]) = bytes.get(SIGNATURE.len()..FIXED_BYTES) else { return Parsed::More };
    let more = usize::from(u16::from_be_bytes([*high, *low]));
    if more > MORE_BYTES {
        return Parsed::Wrong;
    }
    let length = FIXED_BYTES + more;
    let Some(rest) = bytes.get(FIXED_BYTES..length) else { return Parsed::More };
    match (command, family) {
        (0x21, 0x11) => addressed::<4>(length, rest, |octets| Ipv4Addr::from(octets).into()),
        (0x21, 0x21) => addressed::<16>(length, rest, |octets| Ipv6Addr::from(octets).into()),
        // The proxy speaks for itself, or the client is not one of TCP.
        (0x20 | 0x21, _) => Parsed::Header { length, client: None },
        _ => Parsed::Wrong,
    }
}

/// The client comes first, then the proxy, then the ports of both.
fn addressed<const BYTES: usize>(length: usize, rest: &[u8], address: impl Fn([u8; BYTES]) -> IpAddr) -> Parsed {
    let client = rest.first_chunk::<BYTES>();
    let port = rest.get(2 * BYTES..).and_then(|ports| ports.first_chunk::<4>());
    let (Some(client), Some([high, low, ..])) = (client, port) else { return Parsed::Wrong };
    let client = SocketAddr::new(address(*client), u16::from_be_bytes([*high, *low]));
    Parsed::Header { length, client: Some(client) }
}

/// The header of version 1 for a connection of `client` to `at`.
pub(crate) fn header(client: SocketAddr, at: SocketAddr) -> String {
    let (from, to) = (client.ip().to_canonical(), at.ip().to_canonical());
    let family = match (from, to) {
        (IpAddr::V4(_), IpAddr::V4(_)) => "TCP4",
        (IpAddr::V6(_), IpAddr::V6(_)) => "TCP6",
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return "PROXY UNKNOWN\r\n".to_owned(),
    };
    format!("PROXY {family} {from} {to} {} {}\r\n", client.port(), at.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> Option<SocketAddr> {
        match parse(bytes) {
            Parsed::Header { client, .. } => client,
            other => panic!("{other:?}"),
        }
    }

    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).expect("short").to_be_bytes();
        [SIGNATURE, &[command, family], &length, rest].concat()
    }

    #[test]
    fn both_versions_say_who_the_client_is() {
        let text = b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\nGET /";
        assert_eq!(told(text), Some("203.0.113.7:4711".parse().expect("an address")));
        assert!(matches!(parse(text), Parsed::Header { length: 43, .. }), "{:?}", parse(text));
        assert_eq!(told(b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n"), "[2001:db8::7]:4711".parse().ok());
        assert_eq!(told(b"PROXY UNKNOWN anything\r\n"), None);
        let four = binary(0x21, 0x11, &[203, 0, 113, 7, 192, 0, 2, 1, 0x12, 0x67, 1, 0xbb, 3, 0, 0]);
        assert_eq!(told(&four), Some("203.0.113.7:4711".parse().expect("an address")));
        assert_eq!(told(&binary(0x20, 0, &[])), None, "a health check");
        assert_eq!(told(&binary(0x21, 0x31, &[0; 216])), None, "a socket in a folder");
    }

    #[test]
    fn what_is_not_whole_is_waited_for_and_what_is_wrong_is_refused() {
        let whole = binary(0x21, 0x11, &[203, 0, 113, 7, 192, 0, 2, 1, 0x12, 0x67, 1, 0xbb]);
        for end in 1..whole.len() {
            assert_eq!(parse(&whole[..end]), Parsed::More, "{end}");
        }
        for end in 1..30 {
            assert_eq!(parse(&b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n"[..end]), Parsed::More, "{end}");
        }
        let long = [b"PROXY ".as_slice(), &[b'x'; 200]].concat();
        for wrong in [
            b"GET / HTTP/1.1\r\n".as_slice(),
            b"PROXY TCP4 2001:db8::7 192.0.2.1 1 2\r\n",
            b"PROXY TCP4 203.0.113.7 192.0.2.1 4711\r\n",
            b"PROXY TCP9 203.0.113.7 192.0.2.1 1 2\r\n",
            b"PROXY TCP4 203.0.113.7 192.0.2.1 99999 2\r\n",
            &long,
            &binary(0x31, 0x11, &[0; 12]),
            &binary(0x21, 0x11, &[0; 11]),
            &binary(0x21, 0x11, &[0; 5000]),
        ] {
            assert_eq!(parse(wrong), Parsed::Wrong, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_sent_says_what_was_read() {
        let (client, at) = ("[::ffff:203.0.113.7]:4711", "192.0.2.1:443");
        let header = header(client.parse().expect("an address"), at.parse().expect("an address"));
        assert_eq!(header, "PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n");
        assert_eq!(told(header.as_bytes()), "203.0.113.7:4711".parse().ok());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
            for begin in [b"".as_slice(), TEXT, SIGNATURE] {
                let bytes = [begin, &bytes].concat();
                if let Parsed::Header { length, .. } = parse(&bytes) {
                    proptest::prop_assert!(length <= bytes.len());
                }
            }
        }
    }
}
