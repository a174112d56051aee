//! Tapes of the laws that run in networks: one for each place that a law is put in.
//!
//! A [recorder](evenair_laws::tape) goes into a network as a law of a user's own; the network copies it for each connection, flow, link,
//! queue or gateway that it makes, and each copy writes a tape of its own. They answer as the law does, so that the run is
//! the one that it is without them, bit for bit.
//!
//! ```
//! use evenair_laws::tape::first_difference;
//! use evenair_laws::window::{OwnWindow, RenoParams, WindowParams};
//! use evenair_netsim::Tapes;
//! let params = WindowParams::from(RenoParams {});
//! let tapes = Tapes::default();
//! // In the place of a built-in law, of a TcpSpec for example: `window: OwnWindow::new(tapes.record(&params)).into()`.
//! let law = OwnWindow::new(tapes.record(&params));
//! // After the run, each connection has decided as the law does that hears its tape.
//! assert!(tapes.take().iter().all(|tape| first_difference(&params, tape) == Ok(None)));
//! # drop(law);
//! ```

use evenair_laws::tape::{Record, RecordOf, Recorder, Tape, Taped};
use std::sync::{Arc, Mutex, PoisonError};

/// The tapes of one law, wherever it is put.
#[derive(Debug)]
pub struct Tapes<R>(Arc<Mutex<Vec<Vec<R>>>>);

impl<R> Default for Tapes<R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T, A> Tapes<Record<T, A>> {
    /// A law with copies that write here.
    pub fn record<P: Taped<Told = T, Answer = A>>(&self, params: &P) -> Recorder<P, Track<RecordOf<P>>> {
        Recorder::new(params.clone(), Track { tapes: Arc::clone(&self.0), own: None })
    }
}

impl<R> Tapes<R> {
    /// The tapes, one for each place, in the order in which laws were put there; to be taken when they are done.
    pub fn take(&self) -> Vec<Vec<R>> {
        let mut tapes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let written = tapes.iter_mut().map(std::mem::take);
        written.filter(|tape| !tape.is_empty()).collect()
    }
}

/// The end of one tape.
#[derive(Debug)]
pub struct Track<R> {
    tapes: Arc<Mutex<Vec<Vec<R>>>>,
    /// None before anything is written.
    own: Option<usize>,
}

/// A copy of a law that has begun goes on on a copy of its tape.
impl<R: Clone> Clone for Track<R> {
    fn clone(&self) -> Self {
        let own = self.own.map(|own| {
            let mut tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
            let copy = tapes[own].clone();
            tapes.push(copy);
            tapes.len() - 1
        });
        Self { tapes: Arc::clone(&self.tapes), own }
    }
}

impl<R> Tape<R> for Track<R> {
    fn add(&mut self, record: R) {
        let mut tapes = self.tapes.lock().unwrap_or_else(PoisonError::into_inner);
        let own = *self.own.get_or_insert_with(|| {
            tapes.push(Vec::new());
            tapes.len() - 1
        });
        tapes[own].push(record);
    }
}
