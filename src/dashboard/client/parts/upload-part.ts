/** Uploads one part of a file. XMLHttpRequest reports upload progress, fetch does not. */

/** The service rejected the part. */
export class PartError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The upload failed (${status}). Reload the page and try again.`);
    this.status = status;
  }

  /** 403: the signed URL has expired and is renewed. The others may pass. */
  get isRetryable(): boolean {
    return this.status >= 500 || [403, 408, 425, 429].includes(this.status);
  }
}

/** @param onSent called with the bytes sent so far. @returns the part's ETag */
export const putPart = (
  address: string,
  part: Blob,
  { signal, onSent }: { signal: AbortSignal; onSent(bytes: number): void },
): Promise<string> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open("PUT", address);
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => {
      const etag = request.getResponseHeader("etag");
      if (request.status !== 200 || etag === null) return reject(new PartError(request.status));
      onSent(part.size);
      resolve(etag);
    };
    request.onerror = () =>
      reject(new Error("The connection was lost during the upload. Try again."));
    request.onabort = () => reject(signal.reason);
    request.onloadend = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    request.send(part);
  });
