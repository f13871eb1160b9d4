/**
 * Files and large values in R2. Keys start with the id of the upload or prediction they belong to,
 * so that a prefix finds everything to remove.
 *
 *   {upload id}/{name}                   a file that a user uploaded
 *   {prediction id}/{random}-{name}      an output file
 *   {prediction id}/data-{number}        a data URI of its input
 *   {prediction id}/form-{number}-{name} a file of the form that its input came as
 *   {prediction id}/values/{name}        a large value of the event log, or the input
 *   {example id}/{number}-{name}         a copy of a file of the run that it shows
 */

export interface FileFacts {
  mime_type: string;
  name: string;
  /** Whether the file came as a data URI, which its container then gets. */
  data_uri?: true;
  /** Whether it is a text without a charset in its type, whose bytes were checked to be UTF-8. */
  is_utf8?: boolean;
}

export const fileKey = (source: string, name: string) => `${source}/${name}`;

export const valueKey = (predictionId: string, name: string) => `${predictionId}/values/${name}`;

const optionsOf = ({ mime_type, name, data_uri, is_utf8 }: FileFacts) => ({
  httpMetadata: { contentType: mime_type },
  customMetadata: {
    // R2 metadata are headers, which are ASCII.
    name: encodeURIComponent(name),
    ...(data_uri && { data_uri: "1" }),
    ...(is_utf8 && { is_utf8: "1" }),
  },
});

export const factsOf = ({ httpMetadata, customMetadata }: R2Object): FileFacts => ({
  mime_type: httpMetadata?.contentType ?? "application/octet-stream",
  name: decodeURIComponent(customMetadata?.name ?? "file"),
  ...(customMetadata?.data_uri !== undefined && { data_uri: true }),
  ...(customMetadata?.is_utf8 !== undefined && { is_utf8: true }),
});

/** @param body a stream of known length */
export const putFile = (
  bucket: R2Bucket,
  key: string,
  body: ReadableStream | Uint8Array | "",
  facts: FileFacts,
) => bucket.put(key, body, optionsOf(facts));

export const putValue = (bucket: R2Bucket, key: string, value: ReadableStream | Uint8Array) =>
  bucket.put(key, value, { httpMetadata: { contentType: "application/json" } });

export const headFile = (bucket: R2Bucket, key: string) => bucket.head(key);

export const getFile = (bucket: R2Bucket, key: string, options?: R2GetOptions) =>
  bucket.get(key, options);

/** @param keys 1,000 at most */
export const deleteFile = (bucket: R2Bucket, ...keys: string[]) => bucket.delete(keys);

/** Lists the files of a prediction, without its large values, a page at a time. */
export async function* listFiles(bucket: R2Bucket, source: string) {
  const prefix = `${source}/`;
  let cursor: string | undefined;
  do {
    // The delimiter leaves out what is below `values/`.
    const page = await bucket.list({ prefix, delimiter: "/", ...(cursor && { cursor }) });
    yield page.objects.map(({ key, size }) => ({ key, size, name: key.slice(prefix.length) }));
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

/** Lists the keys of a prediction's large values, a page at a time. */
export async function* listValues(bucket: R2Bucket, predictionId: string) {
  const prefix = valueKey(predictionId, "");
  let cursor: string | undefined;
  do {
    const page = await bucket.list({ prefix, ...(cursor && { cursor }) });
    yield page.objects.map(({ key }) => key);
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
}

/** Deletes everything that belongs to an upload or a prediction. */
export async function deleteAll(bucket: R2Bucket, source: string): Promise<void> {
  // Deleted objects are not listed again, so the first page is always the next one.
  for (;;) {
    const { objects, truncated } = await bucket.list({ prefix: `${source}/` });
    if (objects.length > 0) await bucket.delete(objects.map(({ key }) => key));
    if (!truncated) return;
  }
}

export const beginMultipart = async (bucket: R2Bucket, key: string, facts: FileFacts) =>
  (await bucket.createMultipartUpload(key, optionsOf(facts))).uploadId;

/** @returns undefined if the upload no longer exists in R2: aborted, or completed */
export const putPart = (
  bucket: R2Bucket,
  { key, multipart_id }: Multipart,
  number: number,
  body: ReadableStream | Uint8Array,
): Promise<R2UploadedPart | undefined> =>
  unlessGone(bucket.resumeMultipartUpload(key, multipart_id).uploadPart(number, body));

/** @returns undefined like `putPart`. @throws an error that `isStale` recognises */
export const completeMultipart = (
  bucket: R2Bucket,
  { key, multipart_id }: Multipart,
  etags: string[],
): Promise<R2Object | undefined> => {
  const parts = etags.map((etag, n) => ({ partNumber: n + 1, etag }));
  return unlessGone(bucket.resumeMultipartUpload(key, multipart_id).complete(parts));
};

/** Aborts an upload. An upload that no longer exists is not an error. */
export const abortMultipart = (bucket: R2Bucket, { key, multipart_id }: Multipart) =>
  unlessGone(bucket.resumeMultipartUpload(key, multipart_id).abort());

export interface Multipart {
  key: string;
  multipart_id: string;
}

/** R2's error codes, at the end of its messages. */
const NO_SUCH_UPLOAD = /\(10024\)/;
const INVALID_PART = /\(10025\)/;

/** Whether a completion failed because a part has been replaced. */
export const isStale = (error: unknown) =>
  error instanceof Error && INVALID_PART.test(error.message);

async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Error && NO_SUCH_UPLOAD.test(error.message)) return undefined;
    throw error;
  }
}

/** Pictures of users are below the id of their user, by the SHA-256 of their bytes. */
const avatarKey = (userId: string, hash: string) => `${userId}/avatar/${hash}`;

export const putAvatar = (
  bucket: R2Bucket,
  userId: string,
  hash: string,
  picture: { bytes: Uint8Array; type: string },
) =>
  bucket.put(avatarKey(userId, hash), picture.bytes, {
    httpMetadata: { contentType: picture.type },
  });

export const getAvatar = (bucket: R2Bucket, userId: string, hash: string) =>
  getFile(bucket, avatarKey(userId, hash));

export const deleteAvatar = (bucket: R2Bucket, userId: string, hash: string) =>
  deleteFile(bucket, avatarKey(userId, hash));

/** Deletes all pictures that a user ever had. */
export const deleteAvatars = (bucket: R2Bucket, userId: string) => deleteAll(bucket, userId);
