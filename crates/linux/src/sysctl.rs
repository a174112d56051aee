//! Settings of the calling thread's network namespace, below `/proc/sys/net`.

use std::{fs, io};

/// Writes a setting, such as `("ipv4/tcp_sack", "0")`.
///
/// # Errors
/// If this kernel does not have it, or the namespace may not change it.
pub fn set(key: &str, value: &str) -> io::Result<()> {
    fs::write(path(key), value)
}

/// Reads a setting, without the final line break.
///
/// # Errors
/// If this kernel does not have it.
pub fn get(key: &str) -> io::Result<String> {
    Ok(fs::read_to_string(path(key))?.trim_end().to_owned())
}

fn path(key: &str) -> String {
    format!("/proc/sys/net/{key}")
}
