/**
 * The objects of the registry in R2. The key of a blob is the id of the upload that brought it, and says
 * nothing of its content: an object that is being deleted is never one that is being stored.
 */

const PREFIX = "blobs/";

export const objectKey = () => `${PREFIX}${crypto.randomUUID()}`;

/**
 * The shares that all objects are split into, by the first byte of their keys: the shares have the same size.
 */
export const SHARES = 256;

/** Lists the objects of a share, 1,000 at a time. */
export async function* listShare(bucket: R2Bucket, share: number) {
  const prefix = `${PREFIX}${share.toString(16).padStart(2, "0")}`;
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix, ...(cursor && { cursor }) });
    yield page.objects;
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

/** @param digest R2 refuses other bytes, with an error that `isOtherDigest` recognises */
export const putObject = (
  bucket: R2Bucket,
  key: string,
  body: ReadableStream | Uint8Array | "",
  digest?: string,
) => bucket.put(key, body, digest === undefined ? {} : checksumOf(digest));

function checksumOf(digest: string): R2PutOptions {
  const [algorithm, hex = ""] = digest.split(":", 2);
  return algorithm === "sha512" ? { sha512: hex } : { sha256: hex };
}

/** R2's error code for a checksum that does not fit, at the end of its message. */
export const isOtherDigest = (error: unknown) =>
  error instanceof Error && /\(10037\)/.test(error.message);

export const getObject = (bucket: R2Bucket, key: string, options?: R2GetOptions) =>
  bucket.get(key, options);

export const headObject = (bucket: R2Bucket, key: string) => bucket.head(key);

/** @param keys 1,000 at most */
export const deleteObjects = (bucket: R2Bucket, keys: string[]) => bucket.delete(keys);
