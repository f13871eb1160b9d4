/** Shows how the upload of one file goes on. */
import type { Display } from "./display.ts";
import type { Meter } from "./meter.ts";
import { formatBytes, formatDuration, progressBar, progressLine } from "./progress.ts";

export interface Shown {
  /** Shows it no more; says what was sent, if it is complete. */
  end(isComplete: boolean): void;
}

export function showUpload(display: Display, meter: Meter): Shown {
  const hide = display.show({
    draw: (columns) => [progressBar(meter.sample(performance.now()), columns)],
    line: () => progressLine(meter.sample(performance.now())),
  });
  return {
    end(isComplete) {
      hide();
      if (isComplete) display.say(summary(meter));
    },
  };
}

/** `10.5 MB in 2.1 s (5.0 MB/s)` */
export function summary(meter: Meter): string {
  const { bytes, ms, rate } = meter.total(performance.now());
  const time = ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms / 1000);
  return `${formatBytes(bytes)} in ${time} (${formatBytes(rate)}/s)`;
}
