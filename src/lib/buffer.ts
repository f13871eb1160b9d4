/** `Buffer`, which Node and workerd have, for files whose types know only one of them. */

/** The length in UTF-8. Both Node and workerd have `Buffer`, which makes no copy. */
export const utf8Length = (text: string): number => Buffer.byteLength(text);

export const base64Of = ({ buffer, byteOffset, length }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, length).toString("base64");
