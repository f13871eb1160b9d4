/** Reads what strangers answer, and no more of it than was wanted. */

/** @returns undefined when there is more than that; the rest is not read, and its connection ends. */
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
