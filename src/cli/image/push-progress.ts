/** How the push of an image goes on: which layer is read, which are sent, and what was there. */
import type { Live } from "../ui/display.ts";
import { Meter } from "../ui/meter.ts";
import { formatBytes, progressBar, progressLine } from "../ui/progress.ts";
import type { Layer } from "./layer.ts";

/** `1a2b3c4d5e6f` */
export const shortDigest = (digest: string): string => digest.slice("sha256:".length).slice(0, 12);

const LABEL_COLUMNS = 14;

export class PushProgress implements Live {
  readonly #shown = new Map<string, Meter>();
  #layers = 0;
  #there = 0;
  #sentBytes = 0;
  #arrivedBytes = 0;

  /** A layer is read out of the engine. @returns what counts its bytes, and what ends it */
  reading(size: number) {
    return this.#show("reading", size);
  }

  /** A layer is sent. */
  sending({ digest, size }: Pick<Layer, "digest" | "size">) {
    this.#layers += 1;
    const { add, found, end } = this.#show(shortDigest(digest), size);
    return {
      onSent: (bytes: number) => {
        this.#sentBytes += bytes;
        add(bytes);
      },
      onArrived: (bytes: number) => {
        this.#arrivedBytes += bytes;
        found(bytes);
      },
      end,
    };
  }

  /** A layer is in the registry already. */
  isThere(): void {
    this.#layers += 1;
    this.#there += 1;
  }

  /** `4 layers: 3 were there, 12.0 MB sent`, and ` (40.0 MB had arrived before)` */
  get summary(): string {
    const arrived =
      this.#arrivedBytes > 0 ? ` (${formatBytes(this.#arrivedBytes)} had arrived before)` : "";
    const layers = this.#layers === 1 ? "1 layer" : `${this.#layers} layers`;
    const there = this.#there === 1 ? "1 was there" : `${this.#there} were there`;
    return `${layers}: ${there}, ${formatBytes(this.#sentBytes)} sent${arrived}`;
  }

  draw(columns: number): string[] {
    return this.#lines(
      (label, meter) =>
        `${label.padEnd(LABEL_COLUMNS)}${progressBar(meter.sample(performance.now()), columns - LABEL_COLUMNS)}`,
    );
  }

  line(): string | undefined {
    const lines = this.#lines(
      (label, meter) => `${label} ${progressLine(meter.sample(performance.now()))}`,
    );
    return lines.length > 0 ? lines.join("; ") : undefined;
  }

  #lines(lineOf: (label: string, meter: Meter) => string): string[] {
    return [...this.#shown].map(([label, meter]) => lineOf(label, meter));
  }

  #show(label: string, size: number) {
    // An empty one has no part that could be done.
    const meter = new Meter(Math.max(size, 1), 0, performance.now());
    this.#shown.set(label, meter);
    const { add, found } = meter;
    return { add, found, end: () => void this.#shown.delete(label) };
  }
}
