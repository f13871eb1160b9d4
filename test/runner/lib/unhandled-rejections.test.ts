import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";

const here = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

it("an unhandled rejection is logged and does not end the runner", async () => {
  const script = `
    import { createLog, surviveUnhandledRejections } from ${here("../../../runner/src/lib/log.ts")};
    surviveUnhandledRejections(createLog({ level: "info", format: "text" }));
    Promise.reject(new Error("nobody hears me"));
    setImmediate(() => console.log("alive"));
  `;
  const runner = spawn(process.execPath, ["--input-type=module", "-e", script]);
  const [told, said, [code]] = await Promise.all([
    text(runner.stderr),
    text(runner.stdout),
    once(runner, "exit"),
  ]);
  expect({ code, said }).toEqual({ code: 0, said: "alive\n" });
  expect(told).toMatch(/ error unhandled rejection: a defect of the runner.*nobody hears me/);
});
