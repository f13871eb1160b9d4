/** A pool that the platform has replaced, whose polls end so that runners reach the new instance. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { CHECK_MS } from "../../../src/objects/replacement-check.ts";
import { eventually, pause } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { cutOff, movePool } from "../support/replaced.ts";
import { newWorld } from "../support/world.ts";

const pool = (hardware: string) => env.POOL.getByName(hardware);
const isPolled = (hardware: string) =>
  eventually(async () => expect((await pool(hardware).status()).free).toBe(1));
const hasLine = (hardware: string) =>
  eventually(async () => expect((await pool(hardware).status()).waiting).toBe(1));

test("a runner that polls an old instance of the pool gets its job from the new one", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const { hardware, runner, waiting } = await newWorld();
  const one = await runner();
  const taken = one.take();
  await isPolled(hardware);
  const old = pool(hardware);
  movePool(hardware);
  const id = await waiting();
  await hasLine(hardware);
  await cutOff(old);
  nextCheck();
  expect((await taken).prediction_id).toBe(id);
});

test("a poll of the current instance goes on", async () => {
  const nextCheck = holdTimers(CHECK_MS);
  const { hardware, runner, waiting } = await newWorld();
  const taken = (await runner()).take();
  await isPolled(hardware);
  for (let n = 0; n < 3; n++) {
    nextCheck();
    await pause(20);
  }
  await isPolled(hardware);
  const id = await waiting();
  expect((await taken).prediction_id).toBe(id);
});
