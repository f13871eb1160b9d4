// The port on which a container listens, found by a program of its image.
import { Readable } from "node:stream";
import Dockerode from "dockerode";
import { expect, test } from "vitest";
import { listeningIn } from "../../../runner/src/engines/docker/listening-in.ts";

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
