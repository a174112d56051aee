//! How many connections are wanted, and why: a law, what it is told, and what it answers.
