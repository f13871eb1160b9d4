/** Progress lines of Docker, as they come over the wire. */
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import {
  followLines,
  type ProgressLine,
} from "../../../runner/src/engines/docker/pull-progress.ts";

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
