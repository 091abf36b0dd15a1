//! The data plane on real sockets, between real clients and real pods of ours.

mod hostile;
mod http1;
mod http2;
mod kit;
mod raw;
mod tls;
mod waiting;
