/** Memory of the runner for each hundred running predictions. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { type Bed, noop, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import type { Table } from "./table.ts";

const MIB = 1024 ** 2;
/** Memory is read 10 times, 200 ms apart. The least counts, because garbage comes and goes. */
const LOOKS = 10;
const LOOK_MS = 200;

export async function measureMemory(
  { client, runner }: Bed,
  { running: count }: Effort,
): Promise<Table> {
  const { pid } = runner.process;
  await noop(client);
  const before = await resident(pid);
  const input = { count: 1_000, per_second: 1 };
  const body = { model: `${USERNAME}/tokens`, input };
  const create = () => client.call(predictionWithIO, "POST", "/predictions", { body });
  const ids = (await Promise.all(Array.from({ length: count }, create))).map(({ id }) => id);
  await Promise.all(ids.map((id) => untilEvent(id, "output")));
  const running = await resident(pid);
  await Promise.all(
    ids.map(async (id) => {
      const done = untilEvent(id, "done");
      await client.fetch("POST", `/predictions/${id}/cancel`);
      await done;
    }),
  );
  const after = await resident(pid);
  const mib = (bytes: number) => `${(bytes / MIB).toFixed(1)} MiB`;
  return {
    title: `Memory of the runner (anonymous RSS), with ${count} running predictions that stream`,
    head: ["before", "running", "after", "for a hundred"],
    rows: [[mib(before), mib(running), mib(after), mib((100 * (running - before)) / count)]],
  };

  async function untilEvent(id: string, wanted: string): Promise<void> {
    for await (const { event } of client.events("GET", `/predictions/${id}/stream`)) {
      if (event === wanted) return;
    }
    throw new Error(`a stream has ended without '${wanted}'`);
  }
}

/** Returns the anonymous memory of a process: pages of files come and go at the system's will. */
async function resident(pid: number | undefined): Promise<number> {
  const looks: number[] = [];
  for (let n = 0; n < LOOKS; n++) {
    if (n > 0) await sleep(LOOK_MS);
    const [, kilobytes] =
      /^RssAnon:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
    looks.push(Number(kilobytes) * 1024);
  }
  return Math.min(...looks);
}
