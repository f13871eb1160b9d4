/** A deployment of one user: the part of the API that the command needs, and its registry. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { ROOT } from "../../../src/dev/bundle.ts";
import { ANY_SCHEMAS } from "../../../src/domain/images/server-description.ts";
import { newCompatibilities } from "../../../src/protocol/model.ts";
import { MemoryRegistry } from "./memory-registry.ts";

const fakeModel = z.looseObject({
  name: z.string(),
  visibility: z.string().default("private"),
  overview: z.string().optional(),
  versions: z.array(z.record(z.string(), z.unknown())).default([]),
});
type FakeModel = z.infer<typeof fakeModel>;

const HELLO = JSON.parse(readFileSync(join(ROOT, "test/models/hello/auspex.json"), "utf8"));
const OWNER = {
  id: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  username: "ada",
  avatar_url: "",
  kind: "user" as const,
};
const AT = "2026-11-26T00:00:00.000Z";
const OFF = newCompatibilities.parse({});

export class FakeDeployment {
  readonly models = new Map<string, FakeModel>();
  hardware: string[] = ["cpu"];
  /** The cost of the month's runs. */
  cost = RUNS.cost;
  /** Whether a runner is online, which starts each trial at once. */
  isServed = true;
  /** Whether versions await their first start. */
  awaits = false;
  /** Values of variables, by path. */
  readonly variables = new Map<string, unknown>();
  readonly #deleted = new Set<string>();
  registry!: MemoryRegistry;

  static async open(headers: Record<string, string> = {}): Promise<FakeDeployment> {
    const deployment = new FakeDeployment();
    deployment.registry = await MemoryRegistry.open(headers, deployment.#answer);
    return deployment;
  }

  get url(): string {
    return this.registry.url;
  }

  close(): void {
    this.registry.close();
  }

  readonly #answer = (
    method: string,
    path: string,
    body: Record<string, unknown>,
    query: URLSearchParams,
  ) => {
    if (path === "/v1/usage")
      return query.get("format") === "csv"
        ? Readable.from([`query,cost\r\n${query},0\r\n`])
        : groupedBy(query.get("group_by") ?? "", this.cost);
    if (path === "/v1/user")
      return {
        ...OWNER,
        name: "Ada",
        urls: [],
        ...PROFILE,
        organizations: [],
        created_at: AT,
        updated_at: AT,
      };
    if (path === "/v1/user/usage") {
      const { month, ...storage } = USAGE;
      const models = month.models.map((one) => ({ ...one, cost: this.cost }));
      return { month: { ...month, cost: this.cost, models }, ...storage };
    }
    if (path.startsWith("/v1/deployments")) return this.#deployment(method, path, body, query);
    if (path === "/v1/hardware") return page(this.hardware.map(hardwareItem));
    if (path === "/v1/predictions" && method === "GET") return page([]);
    if (path === "/v1/predictions") return Readable.from(this.#trial());
    if (path.endsWith("/explain")) return this.isServed ? RUNNING : ABSENT;
    if (path.endsWith("/cancel")) return {};
    if (path === "/v1/user/models") return page([]);
    if (path === "/v1/models" && method === "POST") {
      if (body.name === undefined) return "invalid";
      const made = fakeModel.parse(body);
      this.models.set(made.name, made);
      return shown(made);
    }
    if (this.#deleted.has(path)) return undefined;
    if (method === "DELETE") return this.#delete(path);
    const [, list, variable] = /^(\/v1\/models\/ada\/[\w-]+\/variables)(\/\w+)?$/.exec(path) ?? [];
    if (list !== undefined && variable === undefined) return page(this.#variablesBelow(list));
    if (list !== undefined) {
      this.variables.set(path, body.value);
      return variableShown(path);
    }
    const [, name = "", rest, number] =
      /^\/v1\/models\/ada\/([\w-]+)(\/versions(?:\/(\d+))?)?$/.exec(path) ?? [];
    const found = this.models.get(name);
    if (!found) return undefined;
    if (number !== undefined) {
      const one = found.versions[Number(number) - 1];
      return one && versionShown(one, Number(number));
    }
    if (method === "PATCH") Object.assign(found, body);
    if (!rest) return shown(found);
    if (method === "GET")
      return page(found.versions.map((one, index) => versionShown(one, index + 1)).toReversed());
    found.versions.push({ ...body, ...(this.awaits && AWAITING) });
    return versionShown(found.versions.at(-1) ?? {}, found.versions.length);
  };

  /** Deployments by name, each with its releases. */
  readonly deployments = new Map<string, object[]>();

  #deployment(
    method: string,
    path: string,
    { name = path.split("/")[4], ...body }: Record<string, unknown>,
    query: URLSearchParams,
  ) {
    const releases = this.deployments.get(String(name));
    if (path === "/v1/deployments" && method === "GET")
      return page([...this.deployments].map((one) => deploymentShown(...one)));
    if (path !== "/v1/deployments" && !releases) return undefined;
    if (path.endsWith("/releases"))
      return page(
        (releases ?? [])
          .map((_, n, all) => ({ ...releaseShown(all.slice(0, n + 1)), figures: FIGURES }))
          .toReversed(),
      );
    if (method === "DELETE") return this.deployments.delete(String(name)) ? {} : undefined;
    const after = path.endsWith("/rollback")
      ? (releases ?? []).slice(0, -1)
      : method === "GET"
        ? (releases ?? [])
        : [...(releases ?? []), { ...releases?.at(-1), ...body }];
    if (query.get("dry_run") !== "true") this.deployments.set(String(name), after);
    return { ...deploymentShown(String(name), after), displaces: [{ model: null, containers: 1 }] };
  }

  /** The event stream of a trial: without a runner, it stays open. */
  async *#trial() {
    yield eventText(1, "status", { status: "pending", prediction: TRIAL });
    while (!this.isServed) await setTimeout(20);
    yield eventText(2, "setup", { phase: "ready" });
    yield eventText(3, "done", TRIAL);
  }

  #variablesBelow(list: string) {
    const paths = [...this.variables.keys()].filter((path) => path.startsWith(`${list}/`));
    return paths.sort().map(variableShown);
  }

  /** Deletes a model, a version or a variable. */
  #delete(path: string): object | undefined {
    if (this.variables.delete(path)) return {};
    const [, name = "", number] =
      /^\/v1\/models\/ada\/([\w-]+)(?:\/versions\/(\d+))?$/.exec(path) ?? [];
    const isThere = (this.models.get(name)?.versions.length ?? -1) >= Number(number ?? 0);
    if (!isThere) return undefined;
    this.#deleted.add(path);
    return {};
  }
}

const releaseShown = (releases: object[]) => ({
  ...{ number: releases.length, model: "ada/story", version: 1, created_at: AT },
  created_by: { type: "user", username: "ada", name: "Ada" },
  ...releases.at(-1),
  configuration: {
    ...{ hardware: "cpu", min_instances: 1, max_instances: 2, idle_seconds: null },
    ...{ max_concurrency: null, priority: null, probe: null, fallbacks: [] },
  },
  ...{ ended_at: null, failure: null },
});

const FIGURES = {
  ...{ since: "2026-11-01", predictions: 1_204, failed: 12, cost: "1.5", currency: "USD" },
  ...{ queue_seconds: { p50: 0.2, p95: 1.4 }, setup_seconds: null },
  execution_seconds: { p50: 2, p95: 4.8 },
};

const deploymentShown = (name: string, releases: object[]) => ({
  ...{ owner: "ada", name, created_at: AT, next_release: null },
  current_release: releaseShown(releases),
  status: { ready: 1, starting: 0, wanted: 1, blocked_by: null, reason: null },
});

const eventText = (id: number, event: string, data: object) =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

const TRIAL = {
  ...{ id: OWNER.id, model: { owner: "ada", name: "story", version_number: 1 }, stream: true },
  ...{ created_at: AT, updated_at: AT, status: "canceled", setup_time: null, error: null },
  ...{
    execution_time: null,
    metrics: null,
    cost: null,
    created_by: null,
    url: `http://127.0.0.1/v1/predictions/${OWNER.id}`,
  },
};

const RUNNING = {
  ...{ status: "started", attempt: 1, reason: null, position: null, accounts_ahead: null },
  ...{ starts_in: null, since: null, history: [] },
};
const ABSENT = {
  ...{ ...RUNNING, status: "pending", since: AT },
  reason: { code: "no_runner", message: "", stopped: [], runners: [] },
};

const RUNS = { predictions: 12, failed: 2, execution_seconds: 185, cost: "0.0016" };
const SPACE = { bytes: 2_000_000, max_bytes: 1_000_000_000 };
const USAGE = {
  month: {
    ...{ since: "2026-11-01", currency: "USD", ...RUNS },
    models: [{ model: "ada/story", ...RUNS }],
  },
  ...{ files: SPACE, images: SPACE, database: SPACE },
};

/** The usage of a month: of one group, and of one that has no name. */
function groupedBy(group: string, cost: string) {
  const sums = {
    ...{ predictions: 6, failed: 1, execution_seconds: 92.5, setup_seconds: 0, cost },
    ...{ input_tokens: 0, output_tokens: 0, cached_tokens: 0, images: 0 },
  };
  const named = { token: "CI", model: "ada/story", version_number: 3, day: "2026-11-03" };
  return {
    ...{ group_by: [group], from: "2026-11-01", to: "2026-11-30", currency: "USD" },
    total: { ...sums, predictions: 12 },
    groups: [
      { ...named, ...sums },
      { ...named, token: null, ...sums, cost: "0" },
    ],
  };
}

const PROFILE = { bio: "", location: "", company: "" };

const page = (items: unknown[]) => ({
  items,
  next_cursor: null,
  previous_cursor: null,
  next_url: null,
  previous_url: null,
});

const variableShown = (path: string) => ({
  name: path.split("/").at(-1),
  updated_at: AT,
});

const hardwareItem = (identifier: string) => ({
  identifier,
  pool: identifier,
  name: identifier.toUpperCase(),
  gpus: identifier === "cpu" ? 0 : 1,
  cpus: 1,
  ram_per_gpu_gb: 0,
  ram_gb: 1,
  price_per_hour: null,
  currency: "USD",
  location_hint: null,
  created_at: AT,
});

const shown = ({ name, visibility, overview, versions }: FakeModel) => ({
  id: OWNER.id,
  name,
  created_at: AT,
  updated_at: AT,
  visibility,
  description: "",
  owner: OWNER,
  predictions_count: 0,
  categories: [],
  cover_image_url: null,
  source_url: null,
  license_url: null,
  paper_url: null,
  overview: overview ?? "",
  hardware: null,
  default_version: null,
  latest_version: versions.length > 0 ? versionShown(versions.at(-1) ?? {}, versions.length) : null,
});

const AWAITING = { status: "awaiting_first_start", schemas: ANY_SCHEMAS };

const versionShown = (body: Record<string, unknown>, number: number) => ({
  number,
  release_notes: body.release_notes,
  created_at: AT,
  container_image_digest: body.image ?? null,
  schemas: body.schemas ?? HELLO.schemas,
  status: body.status ?? "ready",
  compatibilities: OFF,
  size: body.size ?? 0,
  configuration: body.configuration ?? {},
});
