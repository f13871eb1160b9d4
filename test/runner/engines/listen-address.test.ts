import { expect, it } from "vitest";
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
