/** Many readers of one stream. They cost as little as possible, because the writer is measured. */
import { Agent, get } from "node:http";

const agent = new Agent({ keepAlive: false });

export interface Reader {
  /** Resolves with the reader's first byte: from now on it is read live. */
  begun: Promise<void>;
  /** Resolves at the end of the stream with the number of its bytes. */
  ended: Promise<number>;
}

export function openReader(url: string, token?: string): Reader {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number>();
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const request = get(url, { agent, headers }, (response) => {
    let bytes = 0;
    response.on("data", (chunk: Buffer) => {
      if (bytes === 0) begun.resolve();
      bytes += chunk.length;
    });
    response.on("end", () => ended.resolve(bytes));
    response.on("error", ended.reject);
  });
  request.on("error", begun.reject);
  return { begun: begun.promise, ended: ended.promise };
}
