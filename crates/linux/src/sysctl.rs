//! Settings of the calling thread's network namespace, below `/proc/sys/net`.

use std::{fs, io};

/// Sets one, such as `("ipv4/tcp_sack", "0")`.
///
/// # Errors
/// If this kernel does not have it, or the namespace may not change it.
pub fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(path(key), value)
}

/// Reads one, without the end of the line.
///
/// # Errors
/// If this kernel does not have it.
pub fn get(key: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path(key))?.trim_end().to_owned())
}

fn path(key: &str) -> String {
    format!("/proc/sys/net/{key}")
}
