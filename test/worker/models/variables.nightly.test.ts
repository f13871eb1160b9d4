/** A model with as many variables as it may have. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startClock, stopClock } from "../support/time.ts";
import { setVariable, variablesAt } from "../support/variables.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("the limits", () => {
  test("a model has at most 100 variables, each of which can be set again", async () => {
    const { client, model } = await newWorld();
    for (let n = 0; n < 99; n++) await setVariable(client, model, `V${n}`);
    const last = await Promise.all(
      ["A", "B"].map((name) => client.json("PUT", variablesAt(model, name), { value: "x" })),
    );
    expect(last.map(({ status }) => status).sort()).toEqual([200, 409]);
    await setVariable(client, model, "V7", "anew");
    const { status, body } = await client.json("PUT", variablesAt(model, "MORE"), { value: "x" });
    expect([status, body]).toMatchObject([
      409,
      { detail: expect.stringContaining("100 variables") },
    ]);
    await client.ok("DELETE", variablesAt(model, "V7"));
    await setVariable(client, model, "MORE");
  });
});
