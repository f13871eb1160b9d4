/** Values that are too large for an event: they are stored, and the event has their name. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_INLINE_OUTPUT } from "../../../src/protocol/event.ts";
import { record, signals } from "../support/containers.ts";
import { dataUri, items, type OutputBox, openOutputBox } from "../support/output-box.ts";

vi.setConfig({ testTimeout: 15_000 });

let box: OutputBox;
beforeEach(async () => {
  box = await openOutputBox();
});
afterEach(() => box.close());

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
    const message = "the container's response has more than 128 levels of nesting";
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });
});
