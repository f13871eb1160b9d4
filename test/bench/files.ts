/** Uploads and downloads through the Worker, next to R2 through its binding with nothing in between. */
import { randomBytes } from "node:crypto";
import { type Upload, upload } from "../../src/protocol/upload.ts";
import { type Bed, bundleWorker, startBare } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { median } from "./statistics.ts";
import { type Table, times, type Verdict } from "./table.ts";

const MIB = 1024 ** 2;
const PART = 16 * MIB;
const PARTS = 4;
/** A round takes a second for each upload or download, of which there are eight. */
const MOST_ROUNDS = 7;
const LEAST = 0.8;

const bytes = randomBytes(PART);

/** A store that writes a file of PARTS parts, reads it and deletes it. */
interface Store {
  write(atATime: number): Promise<Stored>;
}

interface Stored {
  url: string;
  remove(): Promise<void>;
}

export async function measureFiles(bed: Bed, { rounds }: Effort): Promise<Table> {
  const floor = await startBare(await bundleWorker("floor"));
  try {
    const stores = [ours(bed), bare(floor.url)] as const;
    const rows: string[][] = [];
    const verdicts: Verdict[] = [];
    // The first requests are slower than all that follow.
    for (const store of stores) await round(store, PARTS);
    for (const atATime of [1, PARTS]) {
      const [mine, least] = await inTurn(stores, atATime, Math.min(rounds, MOST_ROUNDS));
      for (const way of ["upload", "download"] as const) {
        const [rate, floorRate] = [mine[way], least[way]];
        const share = rate / floorRate;
        rows.push([way, String(atATime), megabytes(rate), megabytes(floorRate), times(share)]);
        verdicts.push({
          what: `${way}, ${atATime} at a time`,
          value: share,
          bound: { least: LEAST },
        });
      }
    }
    return {
      title: `A file of ${(PARTS * PART) / MIB} MiB in parts of ${PART / MIB} MiB`,
      head: ["way", "parts at a time", "Auspex", "R2 alone", "ratio"],
      rows,
      notes: ["R2 alone: a bare Worker that hands each body to the binding, and each file back"],
      verdicts,
    };
  } finally {
    await floor.stop();
  }
}

const megabytes = (rate: number) => `${(rate / 1e6).toFixed(0)} MB/s`;

/** Bytes per second. */
type Rates = Record<"upload" | "download", number>;

/**
 * Measures in rounds A B A B …, so that other work of the machine affects both. Returns medians over the
 * rounds.
 */
async function inTurn(stores: readonly [Store, Store], atATime: number, rounds: number) {
  const found: [Rates[], Rates[]] = [[], []];
  for (let n = 0; n < rounds; n++) {
    for (const side of [0, 1] as const) found[side].push(await round(stores[side], atATime));
  }
  const typical = (all: Rates[]): Rates => ({
    upload: median(all.map((rates) => rates.upload)),
    download: median(all.map((rates) => rates.download)),
  });
  return [typical(found[0]), typical(found[1])] as const;
}

async function round(store: Store, atATime: number): Promise<Rates> {
  const began = performance.now();
  const stored = await store.write(atATime);
  const written = performance.now();
  await each(atATime, async (n) => {
    const range = `bytes=${n * PART}-${(n + 1) * PART - 1}`;
    const response = await fetch(stored.url, { headers: { range } });
    const { byteLength } = await response.arrayBuffer();
    if (byteLength !== PART) throw new Error(`a part of a file came with ${byteLength} bytes`);
  });
  const read = performance.now();
  await stored.remove();
  const rate = (ms: number) => (PARTS * PART * 1000) / ms;
  return { upload: rate(written - began), download: rate(read - written) };
}

/** Calls `act` for each part, `atATime` at a time. */
async function each<T>(atATime: number, act: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: atATime }, async () => {
      while (next < PARTS) {
        const n = next++;
        results[n] = await act(n);
      }
    }),
  );
  return results;
}

function ours({ client }: Bed): Store {
  const complete = ({ id }: Upload, etags: string[]) =>
    client.call(upload, "POST", `/uploads/${id}/complete`, { body: { etags } });
  return {
    async write(atATime) {
      const body = { size: PARTS * PART, mime_type: "application/octet-stream" };
      const begun = await client.call(upload, "POST", "/uploads", { body });
      const etags = await each(atATime, async (n) => {
        const response = await put(begun.urls[n] ?? "");
        await response.text();
        return response.headers.get("etag") ?? "";
      });
      const { file_url } = await complete(begun, etags);
      return {
        url: file_url ?? "",
        async remove() {
          await client.fetch("DELETE", `/uploads/${begun.id}`);
        },
      };
    },
  };
}

function bare(url: string): Store {
  return {
    async write(atATime) {
      const at = await (await fetch(`${url}/v1/upload`, { method: "POST" })).text();
      const parts = await each(atATime, async (n) => {
        const etag = await (await put(`${url}/v1/part/${at}/${n + 1}`)).text();
        return { partNumber: n + 1, etag };
      });
      await fetch(`${url}/v1/complete/${at}`, { method: "POST", body: JSON.stringify(parts) });
      const [key] = at.split("/");
      const file = `${url}/v1/file/${key}`;
      return {
        url: file,
        async remove() {
          await fetch(file, { method: "DELETE" });
        },
      };
    },
  };
}

async function put(url: string): Promise<Response> {
  const response = await fetch(url, { method: "PUT", body: bytes });
  if (!response.ok) throw new Error(`a part was answered ${response.status}`);
  return response;
}
