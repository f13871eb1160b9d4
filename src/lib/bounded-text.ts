/** Reads a response body from an untrusted server, up to a limit. */

/** @returns undefined if the body is larger; the rest is not read, and the connection is closed */
export async function textUpTo(bytes: number, { body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let left = bytes;
  for await (const chunk of body ?? []) {
    left -= chunk.byteLength;
    if (left < 0) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The beginning of a body, of so many bytes. Of a larger one the rest is not read. */
export async function textStart(bytes: number, { body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = bytes;
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    left -= chunk.byteLength;
    if (left < 0) return text;
  }
  return text + decoder.decode();
}
