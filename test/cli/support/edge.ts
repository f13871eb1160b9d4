/**
 * A proxy before a deployment: it refuses requests that are larger than its zone allows, and breaks
 * connections.
 */
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as requestTo,
  type Server,
  type ServerResponse,
} from "node:http";

/** The fate of a request; a `held` one does not reach the deployment. */
export type Fate = "pass" | "unanswered" | "held" | { status: number } | { brokenAfter: number };

export class Edge {
  /** The method, path and size of each body. */
  readonly bodies: { method: string; path: string; bytes: number }[] = [];
  fate: (method: string, path: string) => Fate = () => "pass";
  url = "";
  readonly #upstream: URL;
  readonly #limit: number;
  readonly #announced: Record<string, string>;
  readonly #server: Server;

  /** @param limit of a body, in bytes; @param announced headers of the answer that begins an upload */
  static async open(upstream: string, limit: number, announced = {}): Promise<Edge> {
    const edge = new Edge(new URL(upstream), limit, announced);
    edge.#server.listen(0, "127.0.0.1");
    await once(edge.#server, "listening");
    const address = edge.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    edge.url = `http://127.0.0.1:${address.port}`;
    return edge;
  }

  private constructor(upstream: URL, limit: number, announced: Record<string, string>) {
    this.#upstream = upstream;
    this.#limit = limit;
    this.#announced = announced;
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  /** Returns the sizes of the bodies with this method. */
  bytesOf(method: string): number[] {
    return this.bodies.filter((one) => one.method === method).map(({ bytes }) => bytes);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { method = "", url: path = "", headers } = request;
    const body = { method, path, bytes: 0 };
    this.bodies.push(body);
    const fate = this.fate(method, path);
    if (typeof fate === "object" && "status" in fate) {
      response.writeHead(fate.status).end("<html>");
      request.resume();
      return;
    }
    if (fate === "held") return;
    if (Number(headers["content-length"] ?? 0) > this.#limit) {
      response.writeHead(413, { connection: "close" }).end("<html>");
      return;
    }
    const onward = requestTo(new URL(path, this.#upstream), { method, headers }, (answer) => {
      if (fate === "unanswered") return void answer.resume().on("end", () => response.destroy());
      const more = method === "POST" ? this.#announced : {};
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...more });
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    request.on("data", (chunk: Buffer) => {
      body.bytes += chunk.length;
      if (body.bytes > this.#limit) {
        onward.destroy();
        if (!response.headersSent) response.writeHead(413, { connection: "close" }).end("<html>");
      } else if (typeof fate === "object" && body.bytes > fate.brokenAfter) {
        onward.destroy();
        request.destroy();
      } else onward.write(chunk);
    });
    request.on("end", () => onward.end());
    request.on("error", () => onward.destroy());
  }
}
