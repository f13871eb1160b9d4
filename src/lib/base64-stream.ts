/// <reference lib="esnext.typedarrays" />
/** Base64 of a stream, piece by piece. */

const encoder = new TextEncoder();
const GROUP = 3;

export async function* base64Stream(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  /** Fewer than three bytes, which have no text without those that follow. */
  let rest = new Uint8Array();
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const bytes = new Uint8Array(rest.length + value.length);
      bytes.set(rest);
      bytes.set(value, rest.length);
      const whole = bytes.length - (bytes.length % GROUP);
      if (whole > 0) yield encoder.encode(bytes.subarray(0, whole).toBase64());
      rest = bytes.slice(whole);
    }
    if (rest.length > 0) yield encoder.encode(rest.toBase64());
  } finally {
    await reader.cancel().catch(() => {});
  }
}
