/** Shows the progress on standard error: a bar in a terminal, otherwise a line now and then. */
import type { WriteStream } from "node:tty";
import type { Meter } from "./meter.ts";
import { formatBytes, formatDuration, progressBar, progressLine } from "./progress.ts";

const REDRAW_MS = 100;
/** Without a terminal every fifth sample is printed. */
const SAMPLE_MS = 1_000;
const SAMPLES_PER_LINE = 5;
/** If the terminal's width is unknown. */
const COLUMNS = 80;
const CLEAR = "\r\u001b[K";

export interface Display {
  /** Prints a line. */
  say(text: string): void;
  /**
   * Shows the progress until the returned function is called; prints a summary if the upload is
   * complete.
   */
  watch(meter: Meter): (ended: boolean) => void;
}

export const silentDisplay: Display = { say: () => {}, watch: () => () => {} };

export function createDisplay(stream: WriteStream, term: string | undefined): Display {
  const bar = stream.isTTY && term !== "dumb";
  const say = (text: string) => void stream.write(`${bar ? CLEAR : ""}${text}\n`);
  return {
    say,
    watch(meter) {
      let looks = 0;
      const draw = () => {
        const progress = meter.sample(performance.now());
        if (bar) stream.write(`${CLEAR}${progressBar(progress, stream.columns || COLUMNS)}`);
        else if (++looks % SAMPLES_PER_LINE === 0) say(progressLine(progress));
      };
      if (bar) draw();
      const timer = setInterval(draw, bar ? REDRAW_MS : SAMPLE_MS);
      return (ended) => {
        clearInterval(timer);
        if (bar) stream.write(CLEAR);
        if (ended) say(summary(meter.total(performance.now())));
      };
    },
  };
}

function summary({ bytes: sent, ms, rate }: ReturnType<Meter["total"]>): string {
  const time = ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms / 1000);
  return `${formatBytes(sent)} in ${time} (${formatBytes(rate)}/s)`;
}
