// A scenario in a link: behind the #, which browsers do not send.

async function through(bytes, stream) {
  const response = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await response.arrayBuffer());
}

/** The fragment that holds a text: compressed, in base64 with the letters of links. */
export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return "s=" + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What a fragment holds: `{ text }`, `{ id }` of a built-in scenario, or nothing. */
export async function unpacked(fragment) {
  const [kind, rest] = [fragment.slice(0, 2), fragment.slice(2)];
  if (kind === "i=") return { id: decodeURIComponent(rest) };
  if (kind === "f=") {
    // `evenair play FILE` serves the file beside the page.
    const response = await fetch(new URL("scenario.toml", import.meta.url));
    if (!response.ok) throw new Error("scenario.toml is not there");
    return { text: await response.text() };
  }
  if (kind !== "s=") return {};
  const letters = atob(rest.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  return { text: new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))) };
}
