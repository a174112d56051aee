//! The module's exports: a place for a request, the call, and the length of the answer.

// The linker keeps a function only under a name that is not mangled, and giving one is called unsafe: another library could have it.
#![allow(unsafe_code, reason = "only the attribute of the exports; there is no unsafe block")]

use crate::desk::Desk;
use std::cell::RefCell;
use std::sync::Mutex;

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
    /// The request, then the answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The message of a panic, as an answer: nothing else runs after one.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of so many bytes, and returns its place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn request(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        text.clear();
        text.resize(bytes, 0);
        text.as_mut_ptr()
    })
}

/// Answers the request, and returns the answer's place; it stands there until the next request.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer() -> *const u8 {
    std::panic::set_hook(Box::new(|panic| {
        LAST_WORDS.lock().map(|mut words| *words = panic.to_string()).unwrap_or_default();
    }));
    TEXT.with_borrow_mut(|text| {
        let request = String::from_utf8_lossy(text);
        *text = DESK.with_borrow_mut(|desk| desk.answer(&request)).into_bytes();
        text.as_ptr()
    })
}

/// The answer's length \[bytes\].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn answer_length() -> usize {
    TEXT.with_borrow(Vec::len)
}

/// The place of a panic's message, after a trap.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn last_words() -> *const u8 {
    LAST_WORDS.lock().map_or(std::ptr::null(), |words| words.as_ptr())
}

/// Its length \[bytes\]; zero, if nothing panicked.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn last_words_length() -> usize {
    LAST_WORDS.lock().map_or(0, |words| words.len())
}
