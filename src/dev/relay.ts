/**
 * A TCP relay in front of the local workerd that reproduces two behaviours of Cloudflare's edge.
 *
 * The edge tells the Worker when a client disconnects. workerd itself notices an orderly close only
 * at its next write, which for a plain response is the end; it notices a reset at once.
 *
 * When a request is answered early, because its body is too large for example, the edge reads the
 * rest of the body. workerd closes after 64 KiB of it, and a client that is still sending sees a
 * broken connection instead of the response.
 */
import { once } from "node:events";
import { createServer, Socket } from "node:net";

export interface Relay {
  url: string;
  /** Closes all connections and accepts no more. */
  close(): void;
}

/** Bytes that are read after an early response: more than clients send by mistake, but limited. */
const LINGER_BYTES = 64 * 1024 ** 2;
const LINGER_MS = 10_000;

/** Streams consist of many small chunks, which must not be delayed by Nagle's algorithm. */
const noDelay = true;

/**
 * @param target the address of workerd, which may restart there
 * @param port 0: any free port
 */
export async function startRelay(target: string, port: number): Promise<Relay> {
  const { hostname: host, port: targetPort } = new URL(target);
  const clients = new Set<Socket>();
  const server = createServer({ noDelay }, (client) => {
    const worker = new Upstream().setNoDelay().connect({ host, port: Number(targetPort) });
    clients.add(client);
    client.pipe(worker, { end: false });
    worker.pipe(client);
    // An error is always followed by a close, which is handled.
    for (const socket of [client, worker]) socket.on("error", () => {});
    client.once("end", () => worker.resetAndDestroy());
    client.once("close", () => {
      clients.delete(client);
      worker.resetAndDestroy();
    });
    worker.once("close", () => linger(client));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    close() {
      server.close();
      for (const client of clients) client.destroy();
    },
  };
}

/**
 * When a write fails, Node destroys the connection together with the response that has already
 * arrived but is unread. Ignoring the write error lets the reading side end the connection.
 */
class Upstream extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    super._writev?.(chunks, () => done());
  }
}

/** Delivers the response to the client and discards what it still sends. */
function linger(client: Socket): void {
  let left = LINGER_BYTES;
  client.on("data", ({ length }) => {
    left -= length;
    if (left < 0) client.destroy();
  });
  client.resume();
  client.end();
  setTimeout(() => client.destroy(), LINGER_MS).unref();
}
