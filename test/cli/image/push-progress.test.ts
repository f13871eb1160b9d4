/** The progress of the push of an image, layer by layer. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PushProgress } from "../../../src/cli/image/push-image.ts";

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
  expect(progress.line()).toBe("1a2b1a2b1a2b 62%, 62.0 of 100.0 MB, 1.0 MB/s, 38 s left");
  expect(progress.summary).toBe("1 layer: 0 were there, 2.0 MB sent (60.0 MB had arrived before)");
});
