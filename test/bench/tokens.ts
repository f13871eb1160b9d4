/** Time from a token leaving the container to its arrival at a subscriber. */
import { type Bed, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { quantile } from "./statistics.ts";
import { ms, type Table } from "./table.ts";

const PER_SECOND = 50;

export async function measureTokens({ client }: Bed, { seconds }: Effort): Promise<Table> {
  const read = async (): Promise<number[]> => {
    const input = { count: PER_SECOND * seconds, per_second: PER_SECOND };
    const body = { model: `${USERNAME}/tokens`, stream: true, input };
    const took: number[] = [];
    for await (const { event, data } of client.events("POST", "/predictions", { body })) {
      if (event === "output")
        took.push(Number(process.hrtime.bigint() - BigInt(String(data))) / 1e6);
      if (event === "error") throw new Error(`a stream has failed: ${JSON.stringify(data)}`);
    }
    if (took.length !== input.count)
      throw new Error(`${took.length} of ${input.count} tokens came`);
    return took;
  };
  const rows: string[][] = [];
  for (const streams of [1, 16]) {
    const took = (await Promise.all(Array.from({ length: streams }, read))).flat();
    rows.push([
      String(streams),
      ms(quantile(took, 0.5)),
      ms(quantile(took, 0.95)),
      ms(quantile(took, 0.99)),
    ]);
  }
  return {
    title: `A token, from the container to a subscriber (${PER_SECOND} tokens/s each, for ${seconds} s)`,
    head: ["streams", "p50", "p95", "p99"],
    rows,
    notes: ["a runner gathers tokens for 30 ms, so half of that is waiting by intention"],
  };
}
