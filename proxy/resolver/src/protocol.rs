//! What ports of Services speak, by what the Services say. Pure.

/// Whether a Service says that it speaks something over TCP that is not HTTP. TLS is known by how it begins.
pub(crate) fn is_raw(app_protocol: &str) -> bool {
    const RAW: [&str; 14] = [
        "tcp",
        "tls",
        "amqp",
        "kafka",
        "ldap",
        "mongo",
        "mongodb",
        "mqtt",
        "mysql",
        "nats",
        "postgres",
        "postgresql",
        "redis",
        "ssh",
    ];
    RAW.iter().any(|raw| app_protocol.eq_ignore_ascii_case(raw))
}
