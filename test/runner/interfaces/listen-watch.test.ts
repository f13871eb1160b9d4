/** Servers that do not listen on the expected address. */
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  addressesOf,
  addressesOfProcesses,
  listeningSockets,
} from "../../../runner/src/engines/listen-address.ts";
import { ListenWatch } from "../../../runner/src/interfaces/listen-watch.ts";

/** The table as Linux writes it. */
const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0 100 0 0 10 0
   1: 0B00007F:9C41 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 102 1 0 100 0 0 10 0
   2: 0100007F:1F40 0100007F:A2B4 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0 20 4 30 10 -1
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:2328 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 104 1 0 100 0 0 10 0
   1: 00000000000000000000000001000000:2329 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 105 1 0 100 0 0 10 0
`;

test("listening sockets are read from Linux's tables, without Docker's own DNS", () => {
  expect(addressesOf(listeningSockets(TABLE))).toEqual([
    "127.0.0.1:8000",
    "[::]:9000",
    "[::1]:9001",
  ]);
});

test.runIf(process.platform === "linux")("a process's own sockets are found", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await vi.waitFor(() => expect(server.listening).toBe(true));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  expect(await addressesOfProcesses([process.pid])).toContain(`127.0.0.1:${port}`);
  expect(await addressesOfProcesses([1])).not.toContain(`127.0.0.1:${port}`);
});

describe("a container that refuses connections", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  function watch(found: string[] | undefined, limitSeconds?: number) {
    const notices: (string | undefined)[] = [];
    const listening = {
      host: "0.0.0.0",
      port: 5_000,
      variables: ["HOST", "PORT"],
      addresses: async () => found,
    };
    const onNotice = (text: string | undefined) => void notices.push(text);
    return { notices, watch: new ListenWatch({ listening, limitSeconds, onNotice }) };
  }

  const pass = (seconds: number) => vi.advanceTimersByTime(seconds * 1_000);

  test("a refused connection is reported once after a minute with the listen address, unless it succeeds", async () => {
    const { notices, watch: one } = watch(["127.0.0.1:5000"]);
    await one.refused();
    pass(59);
    await one.refused();
    expect(notices).toEqual([]);
    pass(1);
    await one.refused();
    pass(1);
    await one.refused();
    expect(notices).toEqual([
      "the container's server has refused connections on port 5000 for 60 s: it listens on 127.0.0.1:5000, which only the container itself can reach. It must listen on 0.0.0.0:5000, which the variables HOST and PORT set",
    ]);
    one.answered();
    expect(notices.at(-1)).toBeUndefined();
  });

  test.each([
    [["0.0.0.0:8000"], ": it listens on 0.0.0.0:8000. It must"],
    [[], ": it listens on no port yet, and may still be loading. It must"],
    [undefined, "for 60 s. It must"],
  ])("a refused connection is reported with the known sockets: %s", async (found, told) => {
    const { notices, watch: one } = watch(found);
    await one.refused();
    pass(60);
    await one.refused();
    expect(notices).toEqual([expect.stringContaining(told)]);
  });

  test("a refused connection fails the start after the time that its version allows", async () => {
    const { watch: one } = watch(["0.0.0.0:8000"], 90);
    await one.refused();
    pass(89);
    await one.refused();
    pass(1);
    await expect(one.refused()).rejects.toMatchObject({
      source: "external",
      message: expect.stringContaining("for 90 s: it listens on 0.0.0.0:8000. It must listen on"),
    });
  });
});
