import { Readable } from "node:stream";
import Dockerode from "dockerode";
import { expect, it, test } from "vitest";
import { listeningIn } from "../../../runner/src/engines/docker/listening-in.ts";
import { exposedPort, listenVariables } from "../../../runner/src/engines/listen-address.ts";

it("a server gets its listen address in the variables and flags that it knows", () => {
  const all = { HOST: "0.0.0.0", PORT: "5000" };
  expect(listenVariables("cog", "0.0.0.0", 5_000)).toEqual(all);
  expect(listenVariables("vendora", "0.0.0.0", 5_000)).toEqual({
    ...all,
    LLAMA_ARG_HOST: "0.0.0.0",
    LLAMA_ARG_PORT: "5000",
  });
});

it.each([
  [{ "8000/tcp": {} }, 8_000],
  [{ "8000": {} }, 8_000],
  [{ "8000/tcp": {}, "9000/udp": {} }, 8_000],
  [{ "8000/tcp": {}, "8001/tcp": {} }, undefined],
  [{ "9000/udp": {} }, undefined],
  [{}, undefined],
  [undefined, undefined],
])("an image that exposes %j listens on %s", (ports, port) => {
  expect(exposedPort(ports)).toBe(port);
});

test("the output of a program that prints endlessly is not read on", async () => {
  let printed = 0;
  const output = Readable.from(
    (function* () {
      for (; printed < 100; printed++) yield Buffer.alloc(64 * 1024, "x");
    })(),
  );
  const container = Object.assign(new Dockerode().getContainer("c"), {
    exec: async () => ({ start: async () => output }),
    inspect: () => Promise.reject(new Error("not here")),
  });
  expect(await listeningIn(container)).toBeUndefined();
  expect(printed).toBeLessThan(30);
  expect(output.destroyed).toBe(true);
});
