/** The progress of a pull: summed up from that of its layers, and put into words. */
import { expect, it } from "vitest";
import { PullProgress } from "../../../runner/src/engines/docker/pull-progress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";

it("pull progress is summed up, never falls, and comes four times a second at most", () => {
  const reports: SetupProgress[] = [];
  let now = 0;
  const progress = new PullProgress(
    (report) => reports.push(report),
    () => now,
  );
  const add = (at: number, id: string, status: string, current?: number, total?: number) => {
    now = at;
    progress.add({ id, status, progressDetail: { current, total } });
  };
  add(0, "a", "Pulling fs layer");
  add(100, "a", "Downloading", 50, 100);
  add(300, "a", "Download complete");
  add(600, "b", "Downloading", 0, 300);
  add(900, "b", "Pull complete");
  add(1_200, "a", "Pull complete");
  expect(reports.map(({ progress: part }) => part)).toEqual([undefined, 0.5, 0.5, 0.875, 1]);
});

it("counts only what is fetched: layers that are there say nothing of their size", () => {
  const messages: (string | undefined)[] = [];
  let now = 0;
  const progress = new PullProgress(
    ({ message }) => messages.push(message),
    () => now,
  );
  progress.add({ id: "a", status: "Already exists", progressDetail: {} });
  now = 300;
  progress.add({ id: "b", status: "Downloading", progressDetail: { current: 10e6, total: 40e6 } });
  // Docker goes on where the connection was cut.
  now = 600;
  progress.add({ id: "b", status: "Retrying in 5 seconds" });
  now = 900;
  progress.add({ id: "b", status: "Downloading", progressDetail: { current: 30e6, total: 40e6 } });
  expect(messages).toEqual([undefined, "10 of 40 MB", "10 of 40 MB", "30 of 40 MB"]);
});

it.each([
  [30, 90, "0.1 of 0.1 kB"],
  [0, 2_300, "0.0 of 2.3 kB"],
  [400_000, 999_000, "400 of 999 kB"],
  [400_000, 1_200_000, "0.4 of 1.2 MB"],
  [4_000_000, 9_870_000, "4.0 of 9.9 MB"],
  [60_000_000, 8_123_400_000, "60 of 8123 MB"],
])("tells %i of %i bytes of a pull in their own unit", (current, total, words) => {
  const messages: (string | undefined)[] = [];
  const progress = new PullProgress(({ message }) => messages.push(message));
  progress.add({ id: "a", status: "Downloading", progressDetail: { current, total } });
  expect(messages).toEqual([words]);
});
