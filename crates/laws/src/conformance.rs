//! What every law of a family must pass, built in or of a user's own.
