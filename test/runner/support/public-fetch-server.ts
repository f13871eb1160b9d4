/** Web servers on loopback: 127.0.0.1 may be fetched from, and 127.0.0.2 may not. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export const ALLOWED = ["127.0.0.1/32"];

interface WebServer {
  /** The URL without a slash at its end. */
  url: string;
  port: number;
  host: string;
  /** Method and path of each request. */
  requests: string[];
  /** The number of connections so far. */
  connections: number;
}

/** Starts a server, which is closed when the test is over. */
export async function serve(
  handler: RequestListener,
  address = "127.0.0.1",
  server: Server = createServer(),
): Promise<WebServer> {
  const found = { url: "", port: 0, host: "", requests: [] as string[], connections: 0 };
  server.on("connection", () => found.connections++);
  server.on("request", (request, response) => {
    found.requests.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  server.listen(0, address);
  await once(server, "listening");
  found.port = (server.address() as AddressInfo).port;
  found.host = `${address}:${found.port}`;
  found.url = `http://${found.host}`;
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return found;
}

/** Resolves with the error of the promise. */
export const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
