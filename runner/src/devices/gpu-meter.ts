/** Readings of the GPUs of this machine, which nvidia-smi measures every 10 seconds. */
import { type GpuReading, gpuReading } from "../../../src/protocol/runner-state.ts";
import { repeat } from "../lib/repeat.ts";
import { queryGpus } from "./nvidia-smi.ts";

const INTERVAL_MS = 10_000;

const FIELDS = "uuid,utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw";

const ofPercent = (percent: number) => percent / 100;
const ofMebibytes = (mebibytes: number) => mebibytes * 1024 ** 2;

export class GpuMeter {
  readonly #query: (fields: string) => Promise<string>;
  #readings: ReadonlyMap<string, GpuReading> = new Map();
  /** Called after each reading but the first. */
  onReading = () => {};

  constructor(query = queryGpus) {
    this.#query = query;
  }

  /** Reads until the process ends. Resolves after the first reading. */
  async start(): Promise<void> {
    await this.read();
    repeat(INTERVAL_MS, async () => {
      await this.read();
      this.onReading();
    });
  }

  /** The readings by UUID, in the order of the driver. Instances of a partitioned GPU have none. */
  get readings(): ReadonlyMap<string, GpuReading> {
    return this.#readings;
  }

  /** Never rejects: without an answer of the driver there are no readings. */
  async read(): Promise<void> {
    this.#readings = parseReadings(await this.#query(FIELDS).catch(() => ""));
  }
}

/** Parses lines of nvidia-smi. A value that it does not tell (`[N/A]`), or that cannot be true, is left out. */
export const parseReadings = (csv: string): ReadonlyMap<string, GpuReading> =>
  new Map(
    csv.split("\n").flatMap((line) => {
      const [id = "", used, memory, total, temperature, power] = line.split(",").map(numberOrText);
      // Errors of a failed GPU are lines, too.
      if (typeof id !== "string" || !id.startsWith("GPU-")) return [];
      return [
        [
          id,
          {
            ...valid("utilization", used, ofPercent),
            ...valid("memory_used_bytes", memory, ofMebibytes),
            ...valid("memory_total_bytes", total, ofMebibytes),
            ...valid("temperature_celsius", temperature),
            ...valid("power_watts", power),
          },
        ] as const,
      ];
    }),
  );

function numberOrText(cell: string): number | string {
  const text = cell.trim();
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function valid(
  name: keyof GpuReading,
  told: number | string | undefined,
  convert = (value: number) => value,
): GpuReading {
  if (typeof told !== "number") return {};
  const { data } = gpuReading.shape[name].safeParse(convert(told));
  return data === undefined ? {} : { [name]: data };
}
