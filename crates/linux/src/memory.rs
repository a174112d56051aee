//! Memory of the process.

/// Returns unused pages of the allocator to the system (`malloc_trim(3)`). Without this call glibc keeps free
/// memory between pieces in use for ever. It takes some milliseconds for each 100 MB, in which other threads
/// may wait for memory. Other C libraries return pages by themselves.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, and leaves memory in use untouched.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the resident memory of the process \[bytes\] (proc(5)).
    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    #[test]
    fn pages_between_pieces_in_use_are_given_back() {
        let before = resident();
        let mut pieces: Vec<Vec<u8>> = (0..64 << 10).map(|_| vec![1; 1 << 10]).collect();
        assert!(resident() > before + (60 << 20));
        // The last of each 64 stays, so that the end of the heap is in use.
        let kept: Vec<_> = pieces.drain(..).skip(63).step_by(64).collect();
        trim();
        let after = resident();
        assert!(after < before + (20 << 20), "{before} then {after}, with {} pieces", kept.len());
    }
}
