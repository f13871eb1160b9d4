/** Outputs while their files are being stored: in order, with failures, until a cancel. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../../src/protocol/event.ts";
import { MAX_WHOLE_FILE } from "../../../src/protocol/runner.ts";
import { record, signals } from "../support/containers.ts";
import {
  dataUri,
  items,
  type OutputBox,
  openOutputBox,
  type Steps,
} from "../support/output-box.ts";

let box: OutputBox;
beforeAll(async () => {
  box = await openOutputBox();
});
afterEach(() => box.settle());
afterAll(() => box.close());

describe("the order of outputs", () => {
  const put = (name: string): Steps[number] => ({ put: { name, text: name, as: name } });
  const say = (value: Json): Steps[number] => ({ say: { value } });

  it("outputs stay in order while files are stored, and earlier ones are not held up", async () => {
    const release = box.hold((url) => url.includes("slow"));
    const { reporter, finish } = box.run(
      [put("slow"), put("fast"), say("first"), say("$slow"), say("second"), say("$fast"), say(3)],
      items,
    );
    await vi.waitFor(() => expect(box.plane.files.named("fast")).toHaveLength(1));
    expect(reporter.of("output")).toEqual(["first"]);
    release();
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const address = (name: string) => box.plane.files.named(name)[0];
    expect(reporter.of("output")).toEqual(["first", address("slow"), "second", address("fast"), 3]);
  });

  it("outputs have no holes: none follows a file that could not be stored", async () => {
    box.plane.files.trouble = ({ url }) => (url?.includes("bad") ? 403 : undefined);
    const { reporter, finish } = box.run(
      [put("good"), put("bad"), say("$good"), say("$bad"), say("after"), say("$good")],
      items,
    );
    const message = "The file bad (3 bytes) could not be stored: HTTP 403.";
    expect(await finish).toMatchObject({
      status: "failed",
      output: "items",
      error: { source: "internal", message },
      execution_seconds: expect.any(Number),
    });
    expect(reporter.of("output")).toEqual([box.plane.files.named("good")[0]]);
  });

  it("a storage failure does not count against the container, which is used again", async () => {
    box.plane.files.trouble = () => 403;
    const containers: number[][] = [];
    for (let i = 0; i < 4; i++) {
      const { finish } = box.run([put("a"), say("$a")]);
      expect(await finish).toMatchObject({ status: "failed", output: "none" });
      containers.push(box.processes());
    }
    const [first] = containers;
    expect(first).not.toEqual([]);
    expect(containers).toEqual(Array(4).fill(first));
  });
});

describe("a store that has trouble", () => {
  beforeEach(() => {
    // `Math.random` makes retries immediate: a delay is a random part of its bound.
    vi.spyOn(Math, "random").mockReturnValue(-0.999);
  });
  afterEach(() => void vi.restoreAllMocks());

  it("a failing store is tried again, with whole files and parts alike", async () => {
    const seen = new Map<string, number>();
    box.plane.files.trouble = ({ method, url }) => {
      const call = `${method} ${url}`;
      const tries = (seen.get(call) ?? 0) + 1;
      seen.set(call, tries);
      return ([503, "cut", 429] as const)[tries - 1];
    };
    const { reporter, finish } = box.run([
      { put: { name: "big.bin", size: MAX_WHOLE_FILE + 1, text: "ab", as: "big" } },
      { put: { name: "small.bin", text: "s", as: "small" } },
      { say: { value: ["$big", "$small"] } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [big] = box.plane.files.named("big.bin");
    const [small] = box.plane.files.named("small.bin");
    expect(reporter.of("output")).toEqual([[big, small]]);
    expect(box.stored(big)?.bytes.equals(Buffer.alloc(MAX_WHOLE_FILE + 1, "ab"))).toBe(true);
  });

  it("a store that fails for good fails the run", async () => {
    box.plane.files.trouble = () => 503;
    const { reporter, finish } = box.run([
      { put: { name: "a.bin", text: "a", as: "a" } },
      { say: { value: "$a" } },
    ]);
    const message = "The file a.bin (1 bytes) could not be stored: HTTP 503.";
    const error = { source: "internal", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.of("output")).toEqual([]);
  });
});

it("a cancel while files are stored ends the run with its earlier outputs", async () => {
  const release = box.hold((url) => url.includes("slow"));
  const stop = signals();
  const { reporter, finish } = box.run(
    [
      { put: { name: "slow", text: "x", as: "slow" } },
      { say: { value: "first" } },
      { say: { value: "$slow" } },
    ],
    items,
    stop,
  );
  await vi.waitFor(() =>
    expect(box.plane.files.requests).toContainEqual(expect.stringContaining("/files")),
  );
  stop.abortCancel();
  expect(await finish).toMatchObject({ status: "canceled", output: "items" });
  expect(reporter.of("output")).toEqual(["first"]);
  release();
});

describe("a large value", () => {
  const large = "x".repeat(MAX_INLINE_OUTPUT);

  it("a large value is stored and sent by its name, in its place", async () => {
    const release = box.hold((url) => url.endsWith("/values"));
    const { reporter, finish } = box.run(
      [{ say: { value: "a" } }, { say: { value: { large } } }, { say: { value: "b" } }],
      items,
    );
    await vi.waitFor(() => expect(box.plane.files.requests).toEqual(["POST /v1/runner/values"]));
    expect(reporter.of("output")).toEqual(["a"]);
    release();
    expect(await finish).toMatchObject({ status: "succeeded", output: "items" });
    const [[name, json] = ["", ""]] = box.plane.files.values;
    expect(JSON.parse(json)).toEqual({ large });
    const said = reporter.events.filter(({ event }) => event === "output" || event === "stored");
    expect(said.map(({ data }) => data)).toEqual(["a", { name, size: json.length }, "b"]);
  });

  it("a large value is measured with the addresses of its files, not with the files", async () => {
    const value = { list: [dataUri("text/plain", large)], fits: "x".repeat(200_000) };
    const { reporter, finish } = box.run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("stored")).toEqual([]);
    expect(box.plane.files.stored.size).toBe(1);
  });

  it("a value just within the limit is sent unchanged", async () => {
    const value = large.slice(2);
    const { reporter, finish } = box.run([{ say: { value } }]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([value]);
  });

  it("a value for which there is no room is not stored", async () => {
    const asked: number[] = [];
    const reserve = (bytes: number) => asked.push(bytes) === 0;
    const job = box.job("files", { steps: [{ say: { value: large } }] });
    const finish = await box.executor.run(job, { ...record(), reserve }, signals());
    expect(finish).toMatchObject({ status: "failed", output: "none" });
    expect(asked).toEqual([large.length + 2]);
    expect(box.plane.files.requests).toEqual([]);
  });

  it("a large value limits how many outputs wait behind it", async () => {
    const release = box.hold((url) => url.endsWith("/values"));
    let room = 2 * large.length;
    const reserve = (bytes: number) => {
      room -= bytes;
      return room >= 0;
    };
    const values = [large, ..."abc", large.slice(0, -10), "late"];
    const steps = values.map((value) => ({ say: { value } }));
    const job = box.job("files", { steps }, items);
    const reporter = { ...record(), reserve };
    const finish = box.executor.run(job, reporter, signals());
    await vi.waitFor(() => expect(room).toBeLessThan(0));
    expect(box.plane.files.requests).toEqual(["POST /v1/runner/values"]);
    release();
    expect(await finish).toMatchObject({ status: "failed", output: "items" });
    expect(reporter.of("stored")).toHaveLength(1);
    expect(reporter.of("output")).toEqual(["a", "b", "c"]);
  });

  it("a value with more than 128 levels of nesting fails the run", async () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    const { finish } = box.run([{ say: { value: JSON.parse(deep) } }]);
    const message = "The container's response has more than 128 levels of nesting.";
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });
});
