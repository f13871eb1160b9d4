/** The end of a process that was succeeded. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createExecutor } from "../../../runner/src/containers/create-executor.ts";
import { ControlPlane } from "../../../runner/src/control-plane/client.ts";
import { fileOptions, silent, weightOptions } from "../support/containers.ts";

test("the last connections are waited for, until the process is told to end at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "auspex-close-"));
  const executor = createExecutor({
    name: "box",
    slots: 1,
    engine: { kind: "process", models: folder, state: folder },
    controlPlane: new ControlPlane({ url: "http://127.0.0.1:9", token: "ausr_x" }),
    files: fileOptions(join(folder, "cache")),
    weights: weightOptions(join(folder, "weights"), "http://127.0.0.1:9"),
    log: silent,
  });
  await executor.open();
  const [port = 0] = executor.holdings().ports;
  // A request that does not end.
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  socket.write("PUT /x HTTP/1.1\r\n");
  await new Promise((resolve) => socket.on("connect", resolve));
  const released = vi.fn();
  executor.handOver({ port: 9, isThere: true, give: async () => true, released });
  const kill = new AbortController();
  const closed = vi.fn();
  const closing = executor.close(kill.signal).then(closed);
  await vi.waitFor(() => expect(released).toHaveBeenCalledOnce());
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(closed).not.toHaveBeenCalled();
  kill.abort();
  await closing;
  socket.destroy();
  rmSync(folder, { recursive: true });
});
