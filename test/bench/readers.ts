/** Many readers of one stream, as cheap as they can be: what is measured is who writes. */
import { Agent, get } from "node:http";

const agent = new Agent({ keepAlive: false });

export interface Reader {
  /** Its first byte has come: from now on it is read to live. */
  begun: Promise<void>;
  /** The stream has ended; how many bytes came. */
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
