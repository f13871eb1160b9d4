/**
 * The floor: what a no-op prediction does without Auspex, on the same configuration (the classes have the
 * names of ours, so that wrangler.toml fits). A request makes an object, which wakes the long poll of a
 * runner. The runner asks the container and reports with one POST. The object then stores one value, beside a
 * row of the account's object, and the request is answered.
 *
 *   POST /v1/run          makes an object; answers when the runner has reported
 *   POST /v1/poll         long poll; answers with the ids of waiting objects
 *   POST /v1/answer/:id   the report
 *   POST /v1/object       the id of a new object, for the following calls
 *   POST /v1/touch/:id    calls the object, which answers at once
 *   GET  /v1/channel/:id  WebSocket: each message goes unchanged to all readers, and is acknowledged;
 *                      with ?stored messages are kept in groups, and a group is acknowledged as a whole
 *   GET  /v1/stream/:id   a reader
 *
 * The floor of files is R2 through its binding:
 *
 *   POST /v1/upload               the key and the id of a new multipart upload
 *   PUT  /v1/part/:key/:id/:n     the body, to R2; answers its ETag
 *   POST /v1/complete/:key/:id    the parts, as JSON
 *   GET, DELETE /v1/file/:key     with or without a range
 */
import { DurableObject } from "cloudflare:workers";
import type { DownFrame } from "../../../src/protocol/channel.ts";

interface Env {
  FILES: R2Bucket;
  ACCOUNT: DurableObjectNamespace<AccountObject>;
  PREDICTION: DurableObjectNamespace<PredictionObject>;
  POOL: DurableObjectNamespace<PoolObject>;
}

const encoder = new TextEncoder();
const END = "end";
const STORED = "stored";
/** A group has the messages of this time, or of this size. */
const GROUP_MS = 250;
const GROUP_UNITS = 128 * 1024;

export class PredictionObject extends DurableObject<Env> {
  readonly #answered = Promise.withResolvers<string>();
  readonly #readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  /** The number of messages so far, and those of the group that is not stored yet. */
  #seq = 0;
  #group = "";
  #timer: number | null = null;

  async run(): Promise<string> {
    await this.env.POOL.getByName("pool").offer(this.ctx.id.toString());
    return this.#answered.promise;
  }

  async answer(text: string): Promise<void> {
    const written = this.env.ACCOUNT.getByName("account").put(this.ctx.id.toString());
    this.ctx.storage.kv.put("output", text);
    await written;
    this.#answered.resolve("ok");
  }

  touch(): string {
    return "ok";
  }

  override fetch(request: Request): Response {
    if (request.headers.get("upgrade") !== "websocket") return new Response(this.#read());
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, new URL(request.url).searchParams.has(STORED) ? [STORED] : []);
    return new Response(null, { status: 101, webSocket: client });
  }

  override webSocketMessage(socket: WebSocket, message: string): void {
    const bytes = encoder.encode(message);
    for (const reader of this.#readers) {
      if (message === END) reader.close();
      else reader.enqueue(bytes);
    }
    this.#seq += 1;
    if (!this.ctx.getTags(socket).includes(STORED)) return this.#acknowledge(socket);
    this.#group += message;
    if (message === END || this.#group.length >= GROUP_UNITS) this.#store(socket);
    else this.#timer ??= setTimeout(() => this.#store(socket), GROUP_MS);
  }

  #store(socket: WebSocket): void {
    clearTimeout(this.#timer);
    this.#timer = null;
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    sql.exec("INSERT INTO entry VALUES (?, ?)", this.#seq, this.#group);
    this.#group = "";
    this.#acknowledge(socket);
  }

  #acknowledge(socket: WebSocket): void {
    socket.send(JSON.stringify({ type: "ack", seq: this.#seq } satisfies DownFrame));
  }

  #read(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      start: (controller) => {
        this.#readers.add(controller);
        controller.enqueue(encoder.encode(": welcome\n\n"));
      },
    });
  }
}

export class PoolObject extends DurableObject<Env> {
  #waiting: string[] = [];
  #poll: ((ids: string[]) => void) | undefined;

  offer(id: string): void {
    this.#waiting.push(id);
    this.#match();
  }

  poll(): Promise<string[]> {
    return new Promise((resolve) => {
      this.#poll = resolve;
      this.#match();
    });
  }

  #match(): void {
    if (!this.#poll || this.#waiting.length === 0) return;
    this.#poll(this.#waiting);
    this.#waiting = [];
    this.#poll = undefined;
  }
}

export class AccountObject extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS entry (id TEXT PRIMARY KEY)");
  }

  put(id: string): void {
    this.ctx.storage.sql.exec("INSERT INTO entry VALUES (?)", id);
  }
}

export class AuditObject extends DurableObject<Env> {}
export class MetricsObject extends DurableObject<Env> {}
export class ConversationObject extends DurableObject<Env> {}
export class RemoteObject extends DurableObject<Env> {}
export class RunnerObject extends DurableObject<Env> {}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, , action, id, multipart = "", number] = new URL(request.url).pathname.split("/");
    const upload = () => env.FILES.resumeMultipartUpload(id ?? "", multipart);
    const stub = () =>
      env.PREDICTION.get(id ? env.PREDICTION.idFromString(id) : env.PREDICTION.newUniqueId());
    switch (action) {
      case "run":
        return new Response(await stub().run());
      case "poll":
        return Response.json(await env.POOL.getByName("pool").poll());
      case "answer":
        await stub().answer(await request.text());
        return new Response(null, { status: 204 });
      case "object":
        return new Response(env.PREDICTION.newUniqueId().toString());
      case "touch":
        return new Response(await stub().touch());
      case "channel":
      case "stream":
        return stub().fetch(request);
      case "upload": {
        const { key, uploadId } = await env.FILES.createMultipartUpload(crypto.randomUUID());
        return new Response(`${key}/${uploadId}`);
      }
      case "part":
        return new Response((await upload().uploadPart(Number(number), request.body ?? "")).etag);
      case "complete":
        await upload().complete(await request.json());
        return new Response(null, { status: 204 });
      case "file":
        if (request.method === "DELETE") await env.FILES.delete(id ?? "");
        return new Response((await env.FILES.get(id ?? "", { range: request.headers }))?.body);
      default:
        return new Response(null, { status: 404 });
    }
  },
} satisfies ExportedHandler<Env>;
