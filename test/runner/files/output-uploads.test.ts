/** Files that a container uploads: whole, broken off, or too large. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { MAX_WHOLE_FILE } from "../../../src/protocol/runner.ts";
import {
  items,
  MAX_FILE,
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

describe("an upload of the container", () => {
  it("an upload becomes an address of the service, with its name and type", async () => {
    const { reporter, finish } = box.run([
      { put: { name: "cat%20one.png", text: "meow", type: "image/png", as: "cat" } },
      { say: { value: "$cat" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded", output: "value" });
    const [address] = reporter.of("output");
    expect(box.stored(address)).toEqual({
      lease: "lease",
      name: "cat one.png",
      mime_type: "image/png",
      bytes: Buffer.from("meow"),
    });
  });

  it("an upload is told from others of the same name, and stored once though the output has it twice", async () => {
    const value = { first: "$a", list: ["$b", "$a", { deep: ["$b"] }], text: "$ a" };
    const { reporter, finish } = box.run([
      { put: { name: "out.txt", text: "one", as: "a" } },
      { put: { name: "out.txt", text: "two", as: "b" } },
      { say: { value } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [one, two] = ["one", "two"].map((text) =>
      [...box.plane.files.stored].flatMap(([url, { bytes }]) =>
        bytes.toString() === text ? [url] : [],
      ),
    );
    expect([one?.length, two?.length]).toEqual([1, 1]);
    const [a, b] = [one?.[0], two?.[0]];
    expect(reporter.of("output")).toEqual([{ first: a, list: [b, a, { deep: [b] }], text: "$ a" }]);
  });

  it("an upload that the runner's disk refuses fails the run as internal, whatever the model reports", async () => {
    const own = await openOutputBox();
    onTestFinished(() => own.close());
    const outputs = join(own.directory, "cache/outputs");
    rmSync(outputs, { recursive: true });
    writeFileSync(outputs, "");
    const { finish } = own.run([
      { put: { name: "out.txt", text: "one", as: "a" } },
      { fail: { message: "uploading out.txt failed: 507" } },
    ]);
    expect(await finish).toMatchObject({
      status: "failed",
      error: {
        source: "internal",
        message: expect.stringContaining("could not write the file out.txt: ENOTDIR"),
      },
    });
    rmSync(outputs);
    mkdirSync(outputs);
  });

  it("a large upload goes in parts, byte for byte", async () => {
    const size = MAX_WHOLE_FILE + 1;
    const { reporter, finish } = box.run([
      { put: { name: "big.bin", size, text: "0123456", as: "big" } },
      { say: { value: "$big" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(box.stored(reporter.of("output")[0])?.bytes.equals(Buffer.alloc(size, "0123456"))).toBe(
      true,
    );
    expect(box.plane.files.requests.filter((call) => call.startsWith("PUT"))).toHaveLength(2);
  });

  it("an upload can be missing from the output", async () => {
    const { finish } = box.run([
      { put: { name: "unsaid.txt", text: "x", as: "x" } },
      { say: { value: "done" } },
    ]);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("an upload belongs to its run only, with several runs in a container", async () => {
    const limits = { max_concurrency: 2 };
    const steps = (text: string): Steps => [
      { meet: { at: "begin" } },
      { put: { name: "out.txt", text, as: "mine" } },
      { meet: { at: "put" } },
      { say: { value: "$mine" } },
    ];
    const [one, two] = [box.run(steps("one"), { limits }), box.run(steps("two"), { limits })];
    expect(await one.finish).toMatchObject({ status: "succeeded" });
    expect(await two.finish).toMatchObject({ status: "succeeded" });
    expect(box.textOf(one.reporter.of("output")[0])).toBe("one");
    expect(box.textOf(two.reporter.of("output")[0])).toBe("two");
  });

  it("an upload ends with its run: a later output with its address has no file", async () => {
    const put = { put: { name: "a.txt", text: "a", as: "a" } };
    expect(await box.run([put, { say: { value: "$a" } }]).finish).toMatchObject({
      status: "succeeded",
    });
    const { reporter, finish } = box.run([{ say: { value: "$$a" } }]);
    const message = expect.stringContaining(
      "the URL of a file that does not exist, or no longer exists",
    );
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.of("output")).toEqual([]);
  });
});

describe("an upload that fails", () => {
  it("a failed upload fails the run, though its item is just missing", async () => {
    const { reporter, finish } = box.run(
      [
        { say: { value: "before" } },
        { put: { name: "cut.bin", size: 100_000, cutAt: 50_000, as: "cut" } },
        { say: { value: "after" } },
      ],
      items,
    );
    const message = expect.stringMatching(/cut\.bin failed: the connection was closed\.$/);
    expect(await finish).toMatchObject({
      status: "failed",
      output: "items",
      error: { source: "external", message },
    });
    expect(reporter.of("output")).toEqual(["before", "after"]);
  });

  it("a failed upload of a file that is too large is the container's fault", async () => {
    const { finish } = box.run([
      { put: { name: "huge.bin", size: MAX_FILE + 1, as: "huge" } },
      { say: { value: "$huge.status" } },
    ]);
    const message = `The file huge.bin is larger than ${MAX_FILE} bytes.`;
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("a failed upload of files that are too large together is reported, too", async () => {
    const size = Math.ceil(0.7 * MAX_FILE);
    const { finish } = box.run([
      { put: { name: "1.bin", size, as: "a" } },
      { put: { name: "2.bin", size, as: "b" } },
      { put: { name: "3.bin", size, as: "c" } },
      { say: { value: "$a" } },
    ]);
    const message = `The container's files are larger than ${2 * MAX_FILE} bytes in total.`;
    expect(await finish).toMatchObject({
      status: "failed",
      error: { source: "external", message },
    });
  });

  it("a failed upload fails all runs of the container, or the one that it names", async () => {
    const limits = { max_concurrency: 2 };
    const broken = (mine: boolean): Steps => [
      { meet: { at: "begin" } },
      { put: { name: "cut.bin", size: 1_000, cutAt: 500, as: "cut", mine } },
      { meet: { at: "end" } },
      { say: { value: "done" } },
    ];
    const whole: Steps = [
      { meet: { at: "begin" } },
      { meet: { at: "end" } },
      { say: { value: "done" } },
    ];
    const named = [box.run(broken(true), { limits }), box.run(whole, { limits })];
    expect(await named[0]?.finish).toMatchObject({ status: "failed" });
    expect(await named[1]?.finish).toMatchObject({ status: "succeeded" });
    const unnamed = [box.run(broken(false), { limits }), box.run(whole, { limits })];
    expect(await unnamed[0]?.finish).toMatchObject({ status: "failed" });
    expect(await unnamed[1]?.finish).toMatchObject({ status: "failed" });
  });

  it.each([
    [{}, "The run ended before its file late.bin was uploaded."],
    [{ cut: 300 }, "The upload of the file late.bin failed: the connection was closed."],
  ])("a failed upload fails a run that ended before it: %j", async (how, message) => {
    const begin = { begin: { name: "late.bin", ...how } };
    const { reporter, finish } = box.run([begin, { say: { value: "done" } }]);
    const error = { source: "external", message };
    expect(await finish).toMatchObject({ status: "failed", output: "value", error });
    expect(reporter.of("output")).toEqual(["done"]);
  });

  it("a failed upload leaves the error of a run that fails by itself unchanged", async () => {
    const { finish } = box.run([
      { put: { name: "cut.bin", size: 1_000, cutAt: 500, as: "cut" } },
      { fail: { message: "out of paint" } },
    ]);
    expect(await finish).toMatchObject({ status: "failed", error: { message: "out of paint" } });
  });
});
