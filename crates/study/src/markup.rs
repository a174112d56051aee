//! Text within HTML and SVG.

/// Returns a text with the characters of markup escaped.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
