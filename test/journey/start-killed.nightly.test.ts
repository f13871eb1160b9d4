/**
 * `npm start` after an earlier one whose Node process was killed: its workerd still serves the same state.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { ROOT } from "../../src/dev/bundle.ts";
import { EMPTY_FOLDER } from "../../src/dev/state.ts";
import { freePort } from "../processes/free-port.ts";

const noted = z.object({ pid: z.number() });

const workerdOf = () =>
  noted.parse(JSON.parse(readFileSync(join(EMPTY_FOLDER, "workerd.json"), "utf8"))).pid;

function isAlive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Resolves when the control plane of `npm start` runs. */
async function started(port: number): Promise<ChildProcess> {
  const args = [join(ROOT, "src/dev/start.ts"), "--empty", "--port", String(port)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGTERM"));
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes("The control plane runs at")) return child;
  throw new Error("it did not start");
}

test("the next start ends the workerd of one that was killed before it uses the state", async () => {
  const port = await freePort();
  const first = await started(port);
  const workerd = workerdOf();
  first.kill("SIGKILL");
  await once(first, "exit");
  expect(isAlive(workerd)).toBe(true);
  const second = await started(port);
  expect(isAlive(workerd)).toBe(false);
  expect(isAlive(workerdOf())).toBe(true);
  second.kill("SIGTERM");
  await once(second, "exit");
  expect(isAlive(workerdOf())).toBe(false);
});
