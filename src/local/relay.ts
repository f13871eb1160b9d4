/**
 * What stands before workerd on this machine, so that leaving a request has the effect that it has
 * on Cloudflare. There the edge tells the Worker that a client has gone. workerd by itself notices
 * an orderly close only when it next writes, and a plain answer writes nothing until it is whole;
 * a reset it notices at once.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Relay {
  url: string;
  /** Breaks its connections, and takes no more. */
  close(): void;
}

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
    const worker = connect({ host, port: Number(targetPort), noDelay });
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
    worker.once("close", () => client.destroySoon());
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
