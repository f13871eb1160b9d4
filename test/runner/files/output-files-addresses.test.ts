/** Addresses in outputs that are invalid once the run has ended, and files after a cancel. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { OutputFolder } from "../../../runner/src/files/output-folder.ts";
import { type ReadFile, References } from "../../../runner/src/files/output-references.ts";
import { OutputServer } from "../../../runner/src/files/output-server.ts";
import { OutputStore } from "../../../runner/src/files/output-store.ts";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";
import { ScratchFolders } from "../../../runner/src/lib/scratch.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { type Box, fileOptions, openBox, QUICK, signals } from "../support/containers.ts";

let cache: string;
let box: Box;
beforeEach(async () => {
  cache = mkdtempSync(join(tmpdir(), "auspex-cache-"));
  mkdirSync(join(cache, "outputs/auspex-scratch-Abc123"), { recursive: true });
  mkdirSync(join(cache, "outputs/mine"));
  box = await openBox(4, QUICK, { files: fileOptions(cache) });
});
afterEach(async () => {
  await box.close();
  // The folder that an operator has named keeps its other files.
  expect(readdirSync(join(cache, "outputs"))).toEqual(["mine"]);
  rmSync(cache, { recursive: true });
});

type Step = Record<string, Record<string, Json>>;

const say = (value: Json): Step => ({ say: { value } });

describe("the address of an input", () => {
  const named = "https://auspex.test/v1/uploads/1/cat.png";
  const echo = (...steps: Step[]) => {
    const stored = { key: "k", name: "cat.png", mime_type: "image/png", size: 4 };
    box.plane.files.inputs.set("k", { mime_type: "image/png", bytes: Buffer.from("meow") });
    return box.run("files", { file: named, steps }, { files: [{ at: ["file"], stored }] });
  };

  it("the address of an input becomes the caller's again when the model returns it", async () => {
    const { reporter, finish } = echo(say({ deep: ["$input", "other"], n: 1 }));
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual([{ deep: [named, "other"], n: 1 }]);
    expect(box.plane.files.stored.size).toBe(0);
  });

  it("the address of an input inside a longer text becomes the caller's, also beside a file", async () => {
    const { reporter, finish } = echo(
      { join: { parts: ["from ", "$input", " to ", "$input", "?"], as: "text" } },
      { put: { name: "out.png", text: "pixels", as: "out" } },
      say(["$text", "$out"]),
    );
    expect(await finish).toMatchObject({ status: "succeeded" });
    const [out] = box.plane.files.named("out.png");
    expect(reporter.of("output")).toEqual([[`from ${named} to ${named}?`, out]]);
  });
});

it("the address of a file inside a longer text fails the run", async () => {
  const { reporter, finish } = box.run("files", {
    steps: [
      { put: { name: "out.png", text: "pixels", as: "out" } },
      { join: { parts: ["![](", "$out", ")"], as: "text" } },
      say("$text"),
    ],
  });
  const message = expect.stringContaining("inside a longer text");
  expect(await finish).toMatchObject({ status: "failed", error: { source: "external", message } });
  expect(reporter.of("output")).toEqual([]);
});

describe("after a cancel", () => {
  const onUnhandledRejection = vi.fn();
  beforeEach(() => void process.on("unhandledRejection", onUnhandledRejection));
  afterEach(() => void process.off("unhandledRejection", onUnhandledRejection));

  it.each([
    ["a file that was not uploaded", "$missing"],
    ["a file that is not there", "file:///nowhere"],
    ["a data URI", "data:text/plain;base64,YQ=="],
  ])("a cancel with %s ends the output, and nothing else", async (_, value) => {
    const stop = signals();
    const steps: Step[] = [
      { join: { parts: ["$url", "/none/x.png"], as: "missing" } },
      say("first"),
      { canceled: {} },
      say("last words"),
      say(value),
      say("nothing follows"),
    ];
    const variables = { ITERATOR: "1", DECLARES: "1" };
    const { reporter, finish } = box.run("files", { steps }, { variables }, stop);
    await reporter.first("output");
    stop.abortCancel();
    expect(await finish).toMatchObject({ status: "canceled", output: "items" });
    expect(reporter.of("output")).toEqual(["first", "last words"]);
    expect(box.plane.files.requests).toEqual([]);
    await setImmediate();
    expect(onUnhandledRejection).not.toHaveBeenCalled();
  });

  it("a cancel keeps all files from being read", () => {
    const callbackServer = new CallbackServer();
    callbackServer.setBaseUrl(new URL("http://127.0.0.1:9"));
    const bounds = { fileBytes: 1, totalBytes: 1, count: 1 };
    const files = new OutputServer(
      callbackServer,
      new OutputFolder(new ScratchFolders(cache), bounds),
    ).begin("a");
    const stop = AbortSignal.abort(new Error("canceled"));
    const plane = new ControlPlane({ url: box.plane.url, token: "ausr_x" });
    const store = new OutputStore({ files: plane, lease: "lease", stop });
    const read = vi.fn<ReadFile>();
    const references = new References({ files, read, store, inputs: new Map(), stop });
    expect(() => references.recognise("file:///a")).toThrow("canceled");
    expect(references.recognise("a text")).toBe("a text");
    expect(read).not.toHaveBeenCalled();
  });
});
