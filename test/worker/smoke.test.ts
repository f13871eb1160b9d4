import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
test("works", async () => {
  const r = await exports.default.fetch("https://auspex.test/v1/predictions");
  expect(r.status).toBe(401);
  expect(await env.DB.prepare("select count(*) as n from users").first()).toEqual({ n: 0 });
  vi.useFakeTimers({ toFake: ["Date"], now: 5000 });
  const s = env.POOL.getByName("x");
  expect(await s.depth()).toEqual({ waiting: 0, free: 0 });
});
