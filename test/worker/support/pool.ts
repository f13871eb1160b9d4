/** The pool of a world's hardware, and what is waited for in it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { eventually } from "./eventually.ts";
import type { World } from "./world.ts";

export const pool = ({ hardware }: Pick<World, "hardware">) => env.POOL.getByName(hardware);

/** Until so many jobs wait. */
export const lineOf = (world: World, waiting: number) =>
  eventually(async () => expect((await pool(world).status()).waiting).toBe(waiting));

/** Until those that poll have room for so many jobs. */
export const openPolls = (world: World, free: number) =>
  eventually(async () => expect((await pool(world).status()).free).toBe(free));

/** It forgets all that it has not stored. */
export const restart = (world: World) =>
  runInDurableObject(pool(world), (_, ctx) => ctx.abort("restarted")).catch(() => {});
