/** The runner tokens that `npm start` creates in a new deployment. */
import { afterEach, expect, test, vi } from "vitest";
import { Client } from "../../src/dev/client.ts";
import { seedExamples } from "../../src/dev/runner.ts";
import { seed } from "../../src/dev/seed.ts";
import { putHardware } from "../../src/protocol/hardware.ts";

afterEach(() => void vi.unstubAllGlobals());

test("the name of each runner token of `npm start` says which hardware it serves", async () => {
  const tokens: unknown[] = [];
  vi.stubGlobal("fetch", async (url: string, { method, body }: RequestInit) => {
    if (url.endsWith("/users")) return new Response("taken", { status: 409 });
    if (method === "PUT") return Response.json(HARDWARE);
    if (url.endsWith("/runner_tokens")) tokens.push(JSON.parse(String(body)));
    return Response.json({ id: crypto.randomUUID(), token: "aus_1" });
  });
  const operator = new Client("http://auspex.test", "secret");
  await seed(operator, "demo");
  await seedExamples(operator);
  expect(tokens).toEqual([
    { name: "npm start: default hardware", hardware: ["cpu"] },
    { name: "npm start: example models", hardware: ["examples"] },
  ]);
});

const HARDWARE = {
  ...putHardware.parse({ name: "Example models" }),
  identifier: "examples",
  pool: "examples",
  currency: "USD",
  location_hint: null,
  created_at: "2026-01-01T00:00:00.000Z",
};
