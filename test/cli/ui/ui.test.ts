/** The display of an upload's progress, and its counts. */

import { Writable } from "node:stream";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PushProgress } from "../../../src/cli/image/push-image.ts";
import { createOutput, safeText } from "../../../src/cli/ui/output.ts";
import {
  formatBytes,
  formatDuration,
  Meter,
  type Progress,
  progressBar,
  progressLine,
} from "../../../src/cli/ui/progress.ts";

const half: Progress = { size: 104_857_600, sent: 52_428_800, rate: 12_345_678 };

test("a progress bar fills the line", () => {
  expect(progressBar(half, 80)).toBe(
    " 50% [==============>             ]  52.4 of 104.9 MB   12.3 MB/s  4s left",
  );
});

test.each([70, 80, 120])(
  "a progress bar in %i columns stays at its place, whatever the texts are",
  (columns) => {
    const sent = [0, 1, 999_999, 52_428_800, 104_857_599, 104_857_600];
    const rates = [undefined, 0, 999.7, 999_949, 999_999, 12_345_678];
    const bars = sent.flatMap((sent) =>
      rates.map((rate) => progressBar({ ...half, sent, rate }, columns)),
    );
    const ends = new Set(bars.map((bar) => bar.indexOf("]")));
    expect([...ends]).toEqual([columns - 46]);
  },
);

test.each([
  [60, " 50%   52.4 of 104.9 MB   12.3 MB/s  4s left"],
  [40, " 50%   12.3 MB/s  4s left"],
  [26, " 50%   12.3 MB/s  4s left"],
  [24, " 50%  4s left"],
  [12, " 50%"],
  [4, " 50"],
  [1, ""],
])("a progress bar in %i columns is %j", (columns, line) => {
  expect(progressBar(half, columns)).toBe(line);
});

test("no progress bar is as wide as its terminal", () => {
  const rates = [undefined, 0, 1, 999, 999_949, 1e9, 1e13];
  const sizes = [1, 999, 1_000, 123_456_789, 996_147_200_000];
  for (let columns = 1; columns <= 200; columns++) {
    for (const size of sizes) {
      for (const sent of [0, Math.floor(size / 3), size]) {
        for (const rate of rates) {
          expect(progressBar({ size, sent, rate }, columns).length).toBeLessThan(columns);
        }
      }
    }
  }
});

test("a progress bar is full only at the end, and then waits for the service", () => {
  const nearly = progressBar({ ...half, sent: half.size - 1 }, 80);
  expect(nearly).toMatch(/^ 99% \[=+>\] /);
  const whole = progressBar({ ...half, sent: half.size }, 80);
  expect(whole).toMatch(/^100% \[=+\] 104\.9 of 104\.9 MB .* finishing$/);
});

test("a progress line for logs has no bar", () => {
  expect(progressLine(half)).toBe("50%, 52.4 of 104.9 MB, 12.3 MB/s, 4s left");
  expect(progressLine({ ...half, rate: undefined })).toBe("50%, 52.4 of 104.9 MB");
  expect(progressLine({ ...half, rate: 0 })).toBe("50%, 52.4 of 104.9 MB, 0 B/s, stalled");
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [999_999, "1.0 MB"],
  [1_000, "1.0 kB"],
  [104_857_600, "104.9 MB"],
  [2e12, "2.0 TB"],
  [5e15, "5000.0 TB"],
])("the size of %i bytes is written as %s", (count, text) => expect(formatBytes(count)).toBe(text));

test.each([
  [0.3, "0.3s"],
  [59.4, "59s"],
  [59.6, "1m 00s"],
  [185, "3m 05s"],
  [7_620, "2h 07m"],
  [500_000, "6 days"],
])("the duration of %d seconds is written as %s", (seconds, text) =>
  expect(formatDuration(seconds)).toBe(text),
);

test("the rate is that of the last ten seconds, without bytes that were there before", () => {
  const meter = new Meter(1_000_000, 400_000, 0);
  // Bytes that the system has buffered at once are left out of the rate.
  meter.add(300_000);
  expect(meter.sample(500)).toEqual({ size: 1_000_000, sent: 700_000, rate: undefined });
  expect(meter.sample(1_000).rate).toBe(undefined);
  meter.add(100_000);
  expect(meter.sample(1_500).rate).toBe(undefined);
  expect(meter.sample(3_000).rate).toBe(50_000);
  // No more bytes arrive after 3 s.
  expect(meter.sample(11_000).rate).toBe(10_000);
  expect(meter.sample(12_000).rate).toBe(0);
  expect(meter.total(20_000)).toEqual({ bytes: 400_000, ms: 20_000, rate: 20_000 });
});

test("bytes that turn out to have arrived before count as done, and not in the rate", () => {
  const meter = new Meter(10_000, 0, 0);
  meter.add(100);
  meter.sample(1_000);
  meter.found(6_000);
  meter.add(100);
  expect(meter.sample(2_000)).toEqual({ size: 10_000, sent: 6_200, rate: 100 });
  expect(progressLine(meter.sample(2_000))).toBe("62%, 6.2 of 10.0 kB, 100 B/s, 38s left");
  // The found bytes are lost again, and the sent ones stay.
  meter.found(-6_000);
  expect(meter.sample(3_000)).toEqual({ size: 10_000, sent: 200, rate: 50 });
  expect(meter.total(4_000)).toEqual({ bytes: 200, ms: 4_000, rate: 50 });
});

test("the rate after bytes are sent again is that since then", () => {
  const meter = new Meter(1_000, 0, 0);
  meter.add(800);
  meter.sample(5_000);
  meter.add(-800);
  expect(meter.sample(6_000)).toEqual({ size: 1_000, sent: 0, rate: undefined });
  expect(meter.sample(7_000).rate).toBe(0);
  meter.add(400);
  expect(meter.sample(8_000)).toEqual({ size: 1_000, sent: 400, rate: 200 });
});

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

test("a resumed push shows the rate and the time left by the bytes that it sends itself", () => {
  const progress = new PushProgress();
  const layer = progress.sending({ digest: `sha256:${"1a2b".repeat(16)}`, size: 100_000_000 });
  // The registry takes two seconds to report the bytes that it has.
  for (let second = 0; second < 2; second++) {
    progress.line();
    vi.advanceTimersByTime(1_000);
  }
  layer.onArrived(60_000_000);
  expect(progress.line()).toBe("1a2b1a2b1a2b 60%, 60.0 of 100.0 MB, 0 B/s, stalled");
  vi.advanceTimersByTime(1_000);
  layer.onSent(2_000_000);
  expect(progress.line()).toBe("1a2b1a2b1a2b 62%, 62.0 of 100.0 MB, 1.0 MB/s, 38s left");
  expect(progress.summary).toBe("Pushed 1 layer (2.0 MB sent, 60.0 MB resumed)");
});

const CLIPBOARD = "\u001b]52;c;cm0gLXJmIH4=\u0007";

test.each([
  ["plain text, tabs and lines", "a\tb\nc é 😀", "a\tb\nc é 😀"],
  ["colours", "\u001b[1;31mred\u001b[0m", "\u001b[1;31mred\u001b[0m"],
  ["the clipboard", CLIPBOARD, "]52;c;cm0gLXJmIH4="],
  ["the title", "\u001b]0;root\u0007", "]0;root"],
  ["the cursor", "\u001b[2J\u001b[Hok\r\b", "[2J[Hok"],
  ["marks that change the direction of writing", "rm\u202e x\u2066y\u200fz\u061c", "rm xyz"],
  ["sequences of one byte", "\u009b2J\u009d0;x\u009c", "2J0;x"],
])("a text with %s is made safe", (_, text, shown) => {
  expect(safeText(text)).toBe(shown);
});

test("an output is safe in a terminal in whatever pieces it comes, and unchanged elsewhere", () => {
  for (const isTTY of [true, false]) {
    let written = "";
    const stream = new Writable({
      write(chunk, _encoding, done) {
        written += String(chunk);
        done();
      },
    });
    const output = createOutput(false, Object.assign(stream, { isTTY }));
    for (const piece of CLIPBOARD) output.write(piece);
    output.result("\u001b[2Jdone", {});
    expect(written).toBe(isTTY ? "]52;c;cm0gLXJmIH4=[2Jdone\n" : `${CLIPBOARD}\u001b[2Jdone\n`);
  }
});
