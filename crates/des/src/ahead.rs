//! State fetched into the cache before it is needed.
//!
//! Where a simulation is far larger than the caches, an event waits for one piece of its state after another. The state of several events
//! that are due soon can be asked for at once. Nothing but time depends on it.

/// Asks for the line of the cache in which a value begins, and goes on. Without effect on machines other than x86-64.
#[inline]
pub fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The same of all lines of a slice.
#[inline]
pub fn fetch_all<T>(values: &[T]) {
    const LINE: usize = 64;
    let mut next = 0;
    // Of iterators with such a step none is compiled to as little.
    while let Some(value) = values.get(next) {
        fetch(value);
        next += (LINE / size_of::<T>().max(1)).max(1);
    }
}
