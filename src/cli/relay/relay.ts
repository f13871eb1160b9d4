/**
 * A registry on this machine's loopback that passes everything on to the deployment's, and cuts what is
 * pushed into chunks that its zone takes: docker, podman, skopeo and containerd send each layer in one
 * request, whatever its size. It adds the token, so that these need no login.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { messageOf, statusOf } from "../../../runner/src/control-plane/error.ts";
import { Failure } from "../failure.ts";
import { type RegistryClient, RegistryError } from "../registry/registry-client.ts";
import { RelayError } from "./error.ts";
import { forward } from "./forward.ts";
import { isOwnPeer } from "./peer.ts";
import { RelayedUploads } from "./uploads.ts";

export interface RelayOptions {
  client: RegistryClient;
  port: number;
  /** For the pieces of what is under way. */
  scratch: string;
}

export interface Relay {
  /** `localhost:5380` */
  host: string;
  close(): void;
}

export async function startRelay({ client, port, scratch }: RelayOptions): Promise<Relay> {
  const uploads = new RelayedUploads(client, scratch);
  let host = "";
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => answerError(response, error));
  });
  // At once: a program that has gone cannot be found any more.
  const own = new WeakMap<Socket, Promise<boolean>>();
  server.on("connection", (socket) => own.set(socket, isOwnPeer(socket)));
  // A push may wait for its chunks longer than a request may take by default, 5 min.
  server.requestTimeout = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireLocal(request, host);
    if (!(await own.get(request.socket))) throw new RelayError(403, "DENIED", FOREIGN);
    const url = new URL(request.url ?? "/", `http://${host}`);
    // 200: no client asks for credentials, and none sends any.
    if (url.pathname === "/v2/" || url.pathname === "/v2") return send(response, 200, {}, "{}");
    if (await uploads.serve(request, response, url)) return;
    const { status, headers, body } = await forward(client, request, url);
    response.writeHead(status, headers);
    if (body) await pipeline(body, response);
    else response.end();
  }

  // 127.0.0.1 only: who is let in pushes with the token.
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new Failure(
      `Port ${port} cannot be used: ${messageOf(error)}\nChoose another one with --port.`,
    );
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  host = `localhost:${address.port}`;
  return {
    host,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const FOREIGN = "The relay answers programs of the user who has started it only.";

/** No page in a browser, under whatever name it knows this machine, may push. */
function requireLocal({ headers }: IncomingMessage, host: string): void {
  const port = host.split(":").at(-1);
  const isKnown = [host, `127.0.0.1:${port}`].includes(headers.host ?? "");
  const isPage = headers.origin !== undefined || headers["sec-fetch-site"] !== undefined;
  if (!isKnown || isPage)
    throw new RelayError(
      403,
      "DENIED",
      `The relay answers programs on this machine at ${host} only.`,
    );
}

function send(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body = "",
): void {
  response.writeHead(status, {
    "docker-distribution-api-version": "registry/2.0",
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

/** In OCI's form, which clients show. */
function answerError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const { status, code, message } = toRelayError(error);
  const body = JSON.stringify({ errors: [{ code, message }] });
  // What is left of a body is not read.
  send(response, status, { connection: "close" }, body);
}

function toRelayError(error: unknown): RelayError {
  if (error instanceof RelayError) return error;
  const message = messageOf(error);
  const status = statusOf(error);
  // Clients show the message of a 403, and hide that of a 401.
  if (status === 401) return new RelayError(403, "DENIED", `${message} Run auspex login again.`);
  if (status === 403) return new RelayError(403, "DENIED", message);
  const code = error instanceof RegistryError ? error.code : "UNKNOWN";
  return new RelayError(status ?? 502, code, message);
}
