/** The lines of a pull, one layer at a time, summed up into one figure. */

import { StringDecoder } from "node:string_decoder";
import { z } from "zod";
import { parseJson } from "../../../../src/lib/json.ts";
import type { ReportProgress } from "../engine.ts";

/** Whether Docker has the layer, unpacked. */
export const isThere = ({ status }: ProgressLine): boolean =>
  status === "Pull complete" || status === "Already exists";

/** At most four reports per second. */
const REPORT_INTERVAL_MS = 250;

/** Docker names a layer by the first digits of its digest. */
const shortId = (digest: string) => digest.slice("sha256:".length, "sha256:".length + 12);

interface Layer {
  /** 0: not known yet. */
  total: number;
  downloaded: number;
  extracted: number;
  isDone?: boolean;
}

/** The first line of each layer comes before any is fetched; its size comes with its first bytes. */
const OF_LAYER =
  /^(Pulling fs layer|Waiting|Downloading|Extracting|Download complete|Pull complete)$/;

export class PullProgress {
  readonly #report: ReportProgress;
  readonly #now: () => number;
  readonly #layers = new Map<string, Layer>();
  #reported = Number.NEGATIVE_INFINITY;
  /** The highest progress so far: reports must not decrease when a layer is fetched again from 0. */
  #highest = 0;

  /** @param layers of the image's manifest, if it could be read */
  constructor(
    report: ReportProgress,
    layers: readonly { digest: string; size: number }[] = [],
    now: () => number = () => performance.now(),
  ) {
    this.#report = report;
    this.#now = now;
    for (const { digest, size } of layers)
      this.#layers.set(shortId(digest), { total: size, downloaded: 0, extracted: 0 });
  }

  add({ id, status, progressDetail }: ProgressLine): void {
    if (id === undefined || status === undefined) return;
    if (status === "Already exists") this.#layers.delete(id);
    // The lines of a pull begin and end with those of the image itself.
    else if (this.#layers.has(id) || OF_LAYER.test(status))
      this.#addTo(id, { status, progressDetail });
    this.#reportTotals();
  }

  #addTo(id: string, { status, progressDetail }: ProgressLine): void {
    const layer = this.#layers.get(id) ?? { total: 0, downloaded: 0, extracted: 0 };
    this.#layers.set(id, layer);
    layer.total = Math.max(layer.total, progressDetail?.total ?? 0);
    const current = Math.min(progressDetail?.current ?? 0, layer.total);
    if (status === "Downloading") layer.downloaded = current;
    if (status === "Extracting") layer.extracted = current;
    if (status === "Download complete") layer.downloaded = layer.total;
    if (status === "Pull complete") {
      layer.downloaded = layer.extracted = layer.total;
      layer.isDone = true;
    }
  }

  #reportTotals(): void {
    if (this.#now() - this.#reported < REPORT_INTERVAL_MS) return;
    this.#reported = this.#now();
    let [total, downloaded, extracted] = [0, 0, 0];
    let isKnown = true;
    for (const layer of this.#layers.values()) {
      isKnown &&= layer.total > 0 || layer.isDone === true;
      total += layer.total;
      downloaded += layer.downloaded;
      extracted += layer.extracted;
    }
    if (total === 0) {
      this.#report({ phase: "pulling" });
      return;
    }
    if (!isKnown) {
      const message = `${formatAmount(downloaded, total)} of the layers so far`;
      return this.#report({ phase: "pulling", message });
    }
    this.#highest = Math.max(this.#highest, (downloaded + extracted) / (2 * total));
    const message = formatAmount(downloaded, total);
    this.#report({ phase: "pulling", message, progress: this.#highest });
  }
}

export function formatAmount(part: number, total: number): string {
  const [unit, name] = total < 1e6 ? ([1e3, "kB"] as const) : ([1e6, "MB"] as const);
  const whole = total / unit >= 10;
  // Rounded up, so that progress is never shown as zero.
  const text = (bytes: number) =>
    whole ? String(Math.round(bytes / unit)) : (Math.ceil(bytes / (unit / 10)) / 10).toFixed(1);
  return `${text(part)} of ${text(total)} ${name}`;
}

const progressLine = z
  .object({
    id: z.string().optional(),
    status: z.string().optional(),
    progressDetail: z.object({ current: z.number(), total: z.number() }).partial().optional(),
    error: z.string().optional(),
    /** Docker 29 and later send only `errorDetail`. */
    errorDetail: z.object({ message: z.string() }).optional(),
  })
  .catch({});
export type ProgressLine = z.infer<typeof progressLine>;

/**
 * Docker's progress of a pull or a load: one JSON value per line. Unlike dockerode's own `followProgress`,
 * this notices a line that reports a failure, which is how Docker reports each failure after its headers.
 * @throws Error with Docker's message; what the stream breaks with
 */
export async function followLines(
  stream: NodeJS.ReadableStream,
  onLine: (line: ProgressLine) => void = () => {},
): Promise<void> {
  let failure: string | undefined;
  for await (const text of linesOf(stream)) {
    const line = progressLine.parse(parseJson(text));
    failure ??= line.errorDetail?.message ?? line.error;
    onLine(line);
  }
  if (failure !== undefined) throw new Error(failure);
}

async function* linesOf(stream: NodeJS.ReadableStream): AsyncGenerator<string> {
  const decoder = new StringDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = (rest + decoder.write(Buffer.from(chunk))).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
}
