//! Probes of a path: datagrams there and back, and what their times say.
