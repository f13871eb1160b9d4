/** One part of a file, by XMLHttpRequest: fetch does not tell how much has gone out. */

/** The service has answered, and not with a success. */
export class PartError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The upload failed (${status}). Reload the page and try again.`);
    this.status = status;
  }

  /** An address that has expired is asked for anew, the others are a matter of the moment. */
  get isRetryable(): boolean {
    return this.status >= 500 || [403, 408, 425, 429].includes(this.status);
  }
}

/** @param onSent is told how many bytes have gone out. @returns the part's ETag */
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
