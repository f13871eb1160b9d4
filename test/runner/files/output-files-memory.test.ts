/** The memory that a large output takes: values are many times as large as their JSON. */
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { OutputFiles } from "../../../runner/src/files/output-files.ts";
import { OutputQueue } from "../../../runner/src/files/output-queue.ts";
import { OutputStore } from "../../../runner/src/files/output-store.ts";
import { CallbackServer } from "../../../runner/src/lib/callback-server.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { MAX_INLINE_OUTPUT } from "../../../src/protocol/event.ts";
import { record, silent } from "../support/containers.ts";
import { FakeControlPlane } from "../support/fake-control-plane.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

let plane: FakeControlPlane;
beforeEach(async () => {
  plane = await FakeControlPlane.start();
});
afterEach(() => plane.stop());

function open(directory: string) {
  const callbackServer = new CallbackServer();
  callbackServer.setBaseUrl(new URL("http://127.0.0.1:9"));
  const controlPlane = new ControlPlane({ url: plane.url, token: "ausr_x" });
  const files = new OutputFiles(callbackServer, controlPlane, silent, {
    directory,
    max_file_bytes: 1,
  });
  const { signal: stop } = new AbortController();
  const reporter = record();
  const queue = new OutputQueue({
    files: files.createServer().begin("1"),
    references: undefined,
    store: new OutputStore({ files: controlPlane, lease: "lease", stop }),
    reporter,
    stop,
    failed: new AbortController(),
    log: silent,
  });
  return { queue, reporter };
}

it("a large output keeps only its JSON in memory while it and the next outputs are stored", async () => {
  const gate = Promise.withResolvers<undefined>();
  plane.files.trouble = () => gate.promise;
  const { queue, reporter } = open(join("/", "never-written"));
  const put = (text: string) => {
    const value: Json = { list: [text] };
    queue.output(value);
    return new WeakRef(value);
  };
  const kept = [put("x".repeat(MAX_INLINE_OUTPUT)), put("after")];
  await vi.waitFor(() => expect(plane.files.requests).toHaveLength(1));
  await vi.waitFor(() => {
    collect();
    expect(kept.map((value) => value.deref())).toEqual([undefined, undefined]);
  });
  expect(reporter.events).toEqual([]);
  gate.resolve(undefined);
  expect(await queue.settle({ status: "succeeded", output: "items" })).toMatchObject({
    status: "succeeded",
  });
  expect(reporter.events.map(({ event }) => event)).toEqual(["stored", "output"]);
});
