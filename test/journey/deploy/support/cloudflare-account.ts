/** One Cloudflare account and the part of its API that a deploy uses. */

import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { Refusal } from "./refusal.ts";

const SQL_ERROR = 7500;

class CloudflareDatabase {
  readonly uuid: string;
  readonly name: string;
  readonly jurisdiction: string | undefined;
  replication = "disabled";
  readonly sqlite = new DatabaseSync(":memory:");
  readonly #uploads = new Map<string, Buffer>();

  constructor(uuid: string, name: string, jurisdiction?: string) {
    this.uuid = uuid;
    this.name = name;
    this.jurisdiction = jurisdiction;
  }

  query(sql: string): unknown[] {
    if (/\bTRIGGER\b/i.test(sql)) {
      throw new Refusal(400, SQL_ERROR, "incomplete input: SQLITE_ERROR");
    }
    const [results] = run(() => [this.sqlite.prepare(sql).all()]);
    return [{ results, success: true, meta: META }];
  }

  /** Says where to put the file, or imports a file that is there. */
  import(request: { action: string; etag?: string; filename?: string }, origin: string): unknown {
    if (request.action === "init") {
      const filename = `${request.etag}.sql`;
      const upload_url = `${origin}/upload/${this.uuid}/${filename}`;
      return { success: true, status: "upload", messages: [], filename, upload_url };
    }
    if (request.action !== "ingest") throw new Error(`What is ${request.action}?`);
    const file = this.#uploads.get(request.filename ?? "");
    if (file === undefined) throw new Refusal(400, SQL_ERROR, "nothing was uploaded");
    const sql = file.toString();
    this.sqlite.exec("BEGIN");
    try {
      run(() => this.sqlite.exec(sql));
      this.sqlite.exec("COMMIT");
    } catch (error) {
      this.sqlite.exec("ROLLBACK");
      throw error;
    }
    const result = { num_queries: 1, final_bookmark: "b", meta: META };
    return { success: true, status: "complete", messages: [], type: "import", result };
  }

  /** @returns the ETag, as R2 computes it */
  upload(filename: string, body: Buffer): string {
    this.#uploads.set(filename, body);
    return createHash("md5").update(body).digest("hex");
  }
}

const META = { duration: 1, rows_read: 0, rows_written: 0, size_after: 0 };

function run<Result>(sql: () => Result): Result {
  try {
    return sql();
  } catch (error) {
    throw new Refusal(
      400,
      SQL_ERROR,
      `${error instanceof Error ? error.message : error}: SQLITE_ERROR`,
    );
  }
}

interface ApiCall {
  /** `METHOD path`, the path below the account. */
  call: string;
  query: URLSearchParams;
  headers: Record<string, unknown>;
  body: Buffer;
  /** The address of the API. */
  origin: string;
}

interface Worker {
  secrets: Map<string, string>;
  /** Code that was uploaded; the first may be a draft that only carries secrets. */
  uploads: string[];
}

export const TOKEN = "a-token-of-cloudflare";
export const ACCOUNT = "0123456789abcdef0123456789abcdef";

export class CloudflareAccount {
  readonly databases: CloudflareDatabase[] = [];
  readonly queues: { name: string; jurisdiction: string | undefined; consumer: unknown }[] = [];
  readonly buckets: { name: string; jurisdiction: string | undefined }[] = [];
  readonly workers = new Map<string, Worker>();
  crons: unknown = [];

  /** Each known call, with the function that answers it. */
  readonly #calls: [RegExp, (call: ApiCall, ...parts: string[]) => unknown][] = [
    [/^GET \/user\/tokens\/verify$/, () => ({ id: "token", status: "active" })],
    [/^GET \/user$/, () => ({ email: "ada@example.com" })],
    [/^GET \/accounts$/, () => [{ id: ACCOUNT, name: "Team" }]],
    [/^GET \/memberships$/, () => [{ account: { id: ACCOUNT, name: "Team" } }]],

    [/^GET \/queues$/, ({ query }) => this.#queues(query.getAll("name"))],
    [
      /^POST \/queues$/,
      ({ body }) => {
        const { queue_name: name, jurisdiction } = JSON.parse(String(body));
        this.queues.push({ name, jurisdiction, consumer: undefined });
        return { queue_name: name, queue_id: name };
      },
    ],
    [
      /^(?:POST|PUT) \/queues\/([^/]+)\/consumers(?:\/.*)?$/,
      ({ body }, name) => {
        const { script_name, ...settings } = JSON.parse(String(body));
        const queue = this.queues.find((one) => one.name === name);
        if (queue) queue.consumer = { script: script_name, ...settings };
        return {};
      },
    ],

    [
      /^GET \/r2\/buckets\/([^/]+)\/lifecycle$/,
      (call, name) => this.#bucket(name, call) && { rules: [] },
    ],
    [/^GET \/r2\/buckets\/([^/]+)$/, (call, name) => this.#bucket(name, call)],
    [
      /^POST \/r2\/buckets$/,
      (call) => {
        const { name } = JSON.parse(String(call.body));
        this.buckets.push({ name, jurisdiction: jurisdictionOf(call) });
        return { name };
      },
    ],

    [
      /^POST \/d1\/database$/,
      ({ body }) => {
        const { name, jurisdiction } = JSON.parse(String(body));
        return { name, uuid: this.addDatabase(name, jurisdiction).uuid };
      },
    ],
    [
      /^GET \/d1\/database\/([^/]+)$/,
      (_, key) => {
        const { uuid, name } = this.#database(key);
        return { uuid, name };
      },
    ],
    [
      /^PATCH \/d1\/database\/([^/]+)$/,
      ({ body, headers }, key) => {
        if (headers.authorization !== `Bearer ${TOKEN}`) throw new Refusal(401, 10000, "Who?");
        const database = this.#database(key);
        database.replication = JSON.parse(String(body)).read_replication.mode;
        return { uuid: database.uuid };
      },
    ],
    [
      /^POST \/d1\/database\/([^/]+)\/query$/,
      ({ body }, key) => this.#database(key).query(JSON.parse(String(body)).sql),
    ],
    [
      /^POST \/d1\/database\/([^/]+)\/import$/,
      ({ body, origin }, key) => this.#database(key).import(JSON.parse(String(body)), origin),
    ],

    [
      /^GET \/workers\/services\/([^/]+)$/,
      (_, name) => {
        this.#worker(name);
        const script = { tag: "tag", tags: null, last_deployed_from: "wrangler" };
        return { default_environment: { environment: "production", script } };
      },
    ],
    [
      /^GET \/workers\/scripts\/([^/]+)\/secrets$/,
      (_, name) =>
        [...this.#worker(name).secrets.keys()].map((secret) => ({
          name: secret,
          type: "secret_text",
        })),
    ],
    [
      /^PATCH \/workers\/scripts\/([^/]+)\/secrets-bulk$/,
      ({ body }, name) => {
        const secrets: Record<string, { text: string }> = JSON.parse(String(body)).secrets;
        for (const [secret, { text }] of Object.entries(secrets))
          this.#worker(name).secrets.set(secret, text);
        return {};
      },
    ],
    [/^GET \/workers\/scripts\/[^/]+\/deployments$/, () => ({ deployments: [] })],
    [/^GET \/workers\/scripts\/[^/]+\/settings$/, () => ({ bindings: [] })],
    // Cloudflare already has all assets.
    [
      /^POST \/workers\/scripts\/[^/]+\/assets-upload-session$/,
      () => ({ jwt: "jwt", buckets: [] }),
    ],
    [
      /^PUT \/workers\/scripts\/([^/]+)$/,
      ({ body }, name) => {
        const worker: Worker = this.workers.get(name ?? "") ?? { secrets: new Map(), uploads: [] };
        this.workers.set(name ?? "", worker);
        worker.uploads.push(String(body));
        return { id: name, deployment_id: "11111111222243338444555555555555", startup_time_ms: 90 };
      },
    ],
    [/^PATCH \/workers\/scripts\/[^/]+\/script-settings$/, () => ({})],
    [/^GET \/workers\/subdomain$/, () => ({ subdomain: "team" })],
    [/^GET \/workers\/workers\/[^/]+$/, () => ({ subdomain: { enabled: true } })],
    [/^POST \/workers\/scripts\/[^/]+\/subdomain$/, () => ({ enabled: true })],
    [
      /^PUT \/workers\/scripts\/[^/]+\/schedules$/,
      ({ body }) => {
        this.crons = JSON.parse(String(body));
        return {};
      },
    ],
  ];

  answer(call: ApiCall): unknown {
    for (const [pattern, answer] of this.#calls) {
      const match = pattern.exec(call.call);
      if (match) return answer(call, ...match.slice(1));
    }
    throw new Refusal(404, 7000, `No route for ${call.call}`);
  }

  addDatabase(name: string, jurisdiction?: string): CloudflareDatabase {
    const uuid = `00000000-0000-4000-8000-00000000000${this.databases.length}`;
    const database = new CloudflareDatabase(uuid, name, jurisdiction);
    this.databases.push(database);
    return database;
  }

  #queues(names: string[]) {
    return this.queues
      .filter(({ name }) => names.length === 0 || names.includes(name))
      .map(({ name, consumer }) => ({
        queue_name: name,
        queue_id: name,
        consumers: consumer ? [{ ...consumer, type: "worker", consumer_id: "consumer" }] : [],
        consumers_total_count: consumer ? 1 : 0,
        producers: [],
        producers_total_count: 0,
      }));
  }

  #bucket(name: string | undefined, call: ApiCall) {
    const found = this.buckets.find(
      (one) => one.name === name && one.jurisdiction === jurisdictionOf(call),
    );
    if (!found) throw new Refusal(404, 10006, "The specified bucket does not exist.");
    return { name };
  }

  #database(key: string | undefined): CloudflareDatabase {
    const found = this.databases.find(({ uuid, name }) => key === uuid || key === name);
    if (!found) throw new Refusal(404, 7404, "The database could not be found.");
    return found;
  }

  #worker(name: string | undefined): Worker {
    const found = this.workers.get(name ?? "");
    if (!found) throw new Refusal(404, 10007, "This Worker does not exist on your account.");
    return found;
  }
}

function jurisdictionOf({ headers }: ApiCall): string | undefined {
  const jurisdiction = headers["cf-r2-jurisdiction"];
  return jurisdiction === undefined ? undefined : String(jurisdiction);
}
