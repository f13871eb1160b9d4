/** A runner with containers that is updated, and has other settings from then on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { dockerIsUp } from "../runner/support/containers.ts";
import { type Boxed, containersOf, openBoxed } from "./support/boxed.ts";
import { endOf } from "./support/end.ts";

describe.runIf(dockerIsUp)("an update", () => {
  let boxed: Boxed;

  beforeAll(async () => {
    boxed = await openBoxed(["text-generation"]);
  });
  afterAll(() => boxed.close());

  it("containers of a runner with other settings are removed", async () => {
    const { world } = boxed;
    const old = await world.runner("boxed");
    await endOf(world, await world.create("text-generation", { max_tokens: 3 }), "succeeded");
    old.signal("SIGUSR2");
    await old.ends();
    expect(await containersOf(old)).toHaveLength(1);
    const next = old.next({ environment: { AUSPEX_PIDS: "500" } });
    await next.says(/ registered /);
    expect(await containersOf(next)).toEqual([]);
    next.signal("SIGTERM");
    await next.ends();
  });
});
