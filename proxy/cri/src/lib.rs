//! Sits between kubelet and the container runtime and shows hooked calls to plugins before they pass.
//!
//! Owns the byte-exact pass-through, the splice of changed fields and the hook chain. The proxy itself has no API client;
//! what it must do reaches it by file.
