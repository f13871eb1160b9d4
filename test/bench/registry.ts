/**
 * A layer pushed to the registry and pulled from it, in each way that clients have, next to R2 through its
 * binding with nothing in between; and the memory of the Worker during four at once.
 */
import { createHash, randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type Bed, bundleWorker, startBare, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { type Table, times } from "./table.ts";

const MIB = 1024 ** 2;
/** The chunk size of cog and `auspex`. */
const CHUNK = 80 * MIB;
/** Layers that are pushed at once, for the memory: docker sends five. */
const AT_ONCE = 4;
/** An isolate has 128 MB: the limit of the memory that the four layers add. */
const MEMORY_MB = 128;
const LEAST = 0.4;

/** A layer is this block repeated: local R2 does not compress it. */
const BLOCK = randomBytes(16 * MIB);

interface Layer {
  size: number;
  digest: string;
}

function newLayer(size: number): Layer {
  const hash = createHash("sha256");
  for (const block of blocks(0, size)) hash.update(block);
  return { size, digest: `sha256:${hash.digest("hex")}` };
}

function* blocks(first: number, last: number) {
  for (let at = first; at < last; ) {
    const start = at % BLOCK.length;
    const block = BLOCK.subarray(start, Math.min(BLOCK.length, start + last - at));
    yield block;
    at += block.length;
  }
}

/** Returns a body of these blocks, whose length may be sent or not. */
const body = (first: number, last: number) => ReadableStream.from(blocks(first, last));

export async function measureRegistry(bed: Bed, { pushed }: Effort): Promise<Table> {
  const size = pushed * MIB;
  const layer = newLayer(size);
  const floor = await startBare(await bundleWorker("floor"));
  try {
    const least = await bare(floor.url, layer);
    const rows: string[][] = [];
    const verdicts = [];
    for (const [name, push] of Object.entries(WAYS)) {
      // Each way has a repository of its own. A client sends a layer again even if it is stored.
      const repository = new Repository(bed, name);
      const rate = await timed(size, () => push(repository, layer));
      rows.push([`push: ${name}`, speed(rate), speed(least.push), times(rate / least.push)]);
      verdicts.push({ what: `push, ${name}`, value: rate / least.push, bound: { least: LEAST } });
    }
    const whole = new Repository(bed, "whole");
    const pulled = await timed(size, () => whole.pull(layer));
    rows.push(["pull", speed(pulled), speed(least.pull), times(pulled / least.pull)]);
    verdicts.push({ what: "pull", value: pulled / least.pull, bound: { least: LEAST } });
    const memory = await memoryOf(bed, size / AT_ONCE);
    rows.push([`memory, ${AT_ONCE} at once`, `${memory} MB`, "", ""]);
    verdicts.push({ what: "MB of memory", value: memory, bound: { most: MEMORY_MB }, hard: true });
    return {
      title: `A layer of ${pushed} MiB`,
      head: ["way", "Auspex", "R2 alone", "ratio"],
      rows,
      notes: [
        "R2 alone: a bare Worker that hands parts of 16 MiB to the binding, one after the other",
        `memory: what workerd takes more while ${AT_ONCE} layers come without a length`,
      ],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}

const speed = (rate: number) => `${(rate / 1e6).toFixed(0)} MB/s`;

/** Returns bytes per second. */
async function timed(size: number, act: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await act();
  return (size * 1000) / (performance.now() - began);
}

type Push = (repository: Repository, layer: Layer) => Promise<void>;

const WAYS: Record<string, Push> = {
  whole: async (repository, layer) => {
    const length = { "content-length": String(layer.size) };
    await repository.finish(await repository.begin(), layer, body(0, layer.size), length);
  },
  sized: async (repository, layer) => {
    const location = await repository.begin();
    await repository.patch(location, body(0, layer.size), {
      "content-length": String(layer.size),
    });
    await repository.finish(location, layer);
  },
  stream: async (repository, layer) => {
    const location = await repository.begin();
    await repository.patch(location, body(0, layer.size), {});
    await repository.finish(location, layer);
  },
  chunks: async (repository, layer) => {
    const location = await repository.begin();
    for (let first = 0; first < layer.size; first += CHUNK) {
      const last = Math.min(layer.size, first + CHUNK);
      await repository.patch(location, body(first, last), {
        "content-length": String(last - first),
        "content-range": `${first}-${last - 1}`,
      });
    }
    await repository.finish(location, layer);
  },
};

class Repository {
  readonly #at: string;
  readonly #token: string;

  constructor({ deployment, seed }: Bed, name: string) {
    this.#at = `${deployment.url}/v2/${USERNAME}/${name}/blobs`;
    this.#token = seed.token;
  }

  async begin(): Promise<string> {
    const { headers } = await this.#send("POST", `${this.#at}/uploads/`, 202);
    return new URL(headers.get("location") ?? "", this.#at).href;
  }

  async patch(location: string, bytes: ReadableStream, headers: Record<string, string>) {
    await this.#send("PATCH", location, 202, bytes, headers);
  }

  async finish(
    location: string,
    { digest }: Layer,
    bytes?: ReadableStream,
    headers: Record<string, string> = {},
  ) {
    await this.#send("PUT", `${location}?digest=${digest}`, 201, bytes, headers);
  }

  async pull({ digest, size }: Layer): Promise<void> {
    await read(await this.#send("GET", `${this.#at}/${digest}`, 200), size);
  }

  async #send(
    method: string,
    url: string,
    status: number,
    bytes?: ReadableStream,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const authorization = `Bearer ${this.#token}`;
    const response = await fetch(url, {
      method,
      headers: { ...headers, authorization },
      ...(bytes && { body: bytes, duplex: "half" }),
    });
    if (response.status === status) return response;
    throw new Error(`${method} ${url}: ${response.status} ${await response.text()}`);
  }
}

async function read(response: Response, size: number): Promise<void> {
  let length = 0;
  if (response.body) for await (const chunk of response.body) length += chunk.byteLength;
  if (length !== size) throw new Error(`a layer came with ${length} bytes`);
}

/** Pushes and pulls the same bytes through the binding alone. */
async function bare(url: string, { size }: Layer): Promise<{ push: number; pull: number }> {
  const at = await (await fetch(`${url}/v1/upload`, { method: "POST" })).text();
  const push = await timed(size, async () => {
    const parts: { partNumber: number; etag: string }[] = [];
    for (const block of blocks(0, size)) {
      const number: number = parts.length + 1;
      const response = await fetch(`${url}/v1/part/${at}/${number}`, {
        method: "PUT",
        body: block,
      });
      parts.push({ partNumber: number, etag: await response.text() });
    }
    await fetch(`${url}/v1/complete/${at}`, { method: "POST", body: JSON.stringify(parts) });
  });
  const [key] = at.split("/");
  const pull = await timed(size, async () => read(await fetch(`${url}/v1/file/${key}`), size));
  await fetch(`${url}/v1/file/${key}`, { method: "DELETE" });
  return { push, pull };
}

/** Returns the most MB that workerd adds while layers are pushed at the same time. */
async function memoryOf(bed: Bed, size: number): Promise<number> {
  const layer = newLayer(size);
  const pid = await workerdOf(process.pid);
  const before = await resident(pid);
  let most = before;
  const timer = setInterval(async () => {
    most = Math.max(most, await resident(pid));
  }, 20);
  try {
    const pushes = Array.from({ length: AT_ONCE }, (_, n) =>
      WAYS.stream?.(new Repository(bed, `at-once-${n}`), layer),
    );
    await Promise.all(pushes);
  } finally {
    clearInterval(timer);
  }
  return Math.round((most - before) / 1e6);
}

/** Returns the first workerd process that this process has started: that of the bed. */
async function workerdOf(parent: number): Promise<number> {
  for (const pid of (await readdir("/proc")).map(Number).filter(Number.isInteger)) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [, name, , ppid] = /^\d+ \((.*)\) (\S) (\d+)/.exec(stat) ?? [];
    if (name?.startsWith("workerd") && Number(ppid) === parent) return pid;
  }
  throw new Error("no workerd is running");
}

async function resident(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}
