/** The progress of a pull: summed up from that of its layers, and put into words. */

import { Readable } from "node:stream";
import { expect, it, test } from "vitest";
import {
  followLines,
  type ProgressLine,
  PullProgress,
} from "../../../runner/src/engines/docker/pull-progress.ts";
import type { SetupProgress } from "../../../src/protocol/event.ts";

/** @param layers of the manifest */
function followed(layers: { digest: string; size: number }[] = []) {
  const reports: SetupProgress[] = [];
  let now = 0;
  const progress = new PullProgress(
    (report) => reports.push(report),
    layers,
    () => now,
  );
  /** Adds a line of Docker's at the time when the next report is due. */
  const add = (id: string, status: string, current?: number, total?: number) => {
    now += 300;
    progress.add({ id, status, progressDetail: { current, total } });
    return reports.at(-1)?.progress;
  };
  return { add, reports };
}

const layerOf = (letter: string, size: number) => ({ digest: `sha256:${letter.repeat(64)}`, size });
const idOf = (letter: string) => letter.repeat(12);

it("pull progress counts the bytes of all layers in the manifest, also of those that wait", () => {
  const { add } = followed([layerOf("a", 100), layerOf("b", 2_900), layerOf("c", 5_000)]);
  const [a, b] = [idOf("a"), idOf("b")];
  expect(add(idOf("c"), "Already exists")).toBe(0);
  expect(add(a, "Downloading", 50, 100)).toBe(50 / 6_000);
  expect(add(a, "Pull complete")).toBe(200 / 6_000);
  expect(add(b, "Downloading", 2_700, 2_900)).toBe(2_900 / 6_000);
  // Layer b is fetched again, and the progress does not fall.
  expect(add(b, "Downloading", 100, 2_900)).toBe(2_900 / 6_000);
  expect(add(b, "Pull complete")).toBe(1);
});

it("pull progress without a manifest is reported once the size of each layer is known", () => {
  const { add, reports } = followed();
  add("a", "Pulling fs layer");
  add("b", "Pulling fs layer");
  expect(add("a", "Pull complete", 0, 100)).toBeUndefined();
  expect(reports.at(-1)?.message).toBe("0.1 of 0.1 kB of the layers so far");
  expect(add("b", "Downloading", 300, 300)).toBe(0.625);
  expect(add("b", "Pull complete")).toBe(1);
});

it("pull progress is reported at most four times a second", () => {
  const reports: SetupProgress[] = [];
  let now = 0;
  const progress = new PullProgress(
    (report) => reports.push(report),
    [],
    () => now,
  );
  for (; now < 1_000; now += 50) progress.add({ id: "a", status: "Pulling fs layer" });
  expect(reports).toHaveLength(4);
});

it("pull progress counts only fetched layers, because present layers have no size", () => {
  const messages: (string | undefined)[] = [];
  let now = 0;
  const progress = new PullProgress(
    ({ message }) => messages.push(message),
    [],
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
])("pull progress of %i of %i bytes has its own unit", (current, total, words) => {
  const messages: (string | undefined)[] = [];
  const progress = new PullProgress(({ message }) => messages.push(message));
  progress.add({ id: "a", status: "Downloading", progressDetail: { current, total } });
  expect(messages).toEqual([words]);
});

const follow = async (...chunks: (string | Buffer)[]) => {
  const lines: ProgressLine[] = [];
  await followLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), (line) =>
    lines.push(line),
  );
  return lines.filter((line) => Object.keys(line).length > 0);
};

test("lines are joined from the pieces that they come in", async () => {
  const text = Buffer.from('{"id":"a","status":"Größe"}\r\n{"id":"b"}');
  const pieces = [...text].map((byte) => Buffer.of(byte));
  expect(await follow(...pieces)).toEqual([{ id: "a", status: "Größe" }, { id: "b" }]);
});

test("lines that are no progress are skipped", async () => {
  expect(await follow('nonsense\n[1]\n{"id":"a","other":1}\n{"status":7}\n')).toEqual([
    { id: "a" },
  ]);
});

test.each([
  ['{"errorDetail":{"message":"no space left on device"},"error":"no space left on device"}'],
  ['{"errorDetail":{"code":5,"message":"no space left on device"}}'],
  ['{"error":"no space left on device"}'],
])("a failure line is thrown, though the status was 200: %s", async (line) => {
  await expect(follow(`{"id":"a"}\n${line}\n`)).rejects.toThrow("no space left on device");
  await expect(follow(`{"id":"a"}\n${line}`)).rejects.toThrow("no space left on device");
});

test("a stream that breaks is a failure", async () => {
  const stream = Readable.from(
    (function* () {
      yield Buffer.from('{"id":"a"}\n');
      throw new Error("aborted");
    })(),
  );
  await expect(followLines(stream)).rejects.toThrow("aborted");
});
