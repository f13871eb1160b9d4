/**
 * What stands before workerd on this machine, so that leaving a request has the effect that it has
 * on Cloudflare. There the edge tells the Worker that a client has gone. workerd by itself notices
 * an orderly close only when it next writes, and a plain answer writes nothing until it is whole;
 * a reset it notices at once.
 *
 * The edge also takes in what is still on its way when a request is answered early, as one whose
 * body is too large. workerd closes after 64 KiB of it, and whoever is still sending meets a broken
 * connection and not the answer.
 */
import { once } from "node:events";
import { createServer, Socket } from "node:net";

export interface Relay {
  url: string;
  /** Breaks its connections, and takes no more. */
  close(): void;
}

/** What is taken in after an answer: more than anybody sends by mistake, and not for ever. */
const LINGER_BYTES = 64 * 1024 ** 2;
const LINGER_MS = 10_000;

/** Streams are many small pieces, which must not be gathered. */
const noDelay = true;

/**
 * @param target where workerd is; it may go away and come back there.
 * @param port 0: any free one.
 */
export async function startRelay(target: string, port: number): Promise<Relay> {
  const { hostname: host, port: targetPort } = new URL(target);
  const clients = new Set<Socket>();
  const server = createServer({ noDelay }, (client) => {
    const worker = new Upstream().setNoDelay().connect({ host, port: Number(targetPort) });
    clients.add(client);
    client.pipe(worker, { end: false });
    worker.pipe(client);
    // An error is followed by a close, which is what counts.
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
 * Node gives up a connection when it cannot write to it any more, with what had already come back,
 * unread: an answer, and the end. That it has ended is for the reading side to say.
 */
class Upstream extends Socket {
  override _write(chunk: Buffer, encoding: BufferEncoding, done: () => void): void {
    super._write(chunk, encoding, () => done());
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: () => void): void {
    super._writev?.(chunks, () => done());
  }
}

/** Lets the client have what was answered, and drops what it goes on sending. */
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
