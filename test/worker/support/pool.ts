/** The pool of a world's hardware, and waits for its state. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import type { World } from "./world.ts";

export const pool = ({ hardware }: Pick<World, "hardware">) => env.POOL.getByName(hardware);

/** Waits until `waiting` jobs wait in the pool. */
export const lineOf = (world: World, waiting: number) =>
  eventually(async () => expect((await pool(world).status()).waiting).toBe(waiting));

/** Waits until the polling runners have room for `free` jobs. */
export const openPolls = (world: World, free: number) =>
  eventually(async () => expect((await pool(world).status()).free).toBe(free));

/** Restarts the pool object, which forgets everything that it has not stored. */
export const restart = (world: World) =>
  runInDurableObject(pool(world), (_, ctx) => ctx.abort("restarted")).catch(() => {});

/** Returns how many runners, and how many rows of estimates, the pool has stored. */
export const storedRows = (world: World) =>
  runInDurableObject(pool(world), (_, { storage }) =>
    ["runners", "estimates"].map(
      (table) => storage.sql.exec(`SELECT count(*) AS rows FROM ${table}`).one().rows,
    ),
  );
