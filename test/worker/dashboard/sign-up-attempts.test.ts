/** Limit of sign-up attempts per network: each answer reveals whether an address has an account. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import {
  limitSignUpAttempts,
  sweepSessions,
} from "../../../src/services/sign-in/sign-up-attempts.ts";
import { run } from "../support/accounts.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const services = getServices(env);

beforeEach(stopClock);
afterEach(() => {
  services.settings.rateLimits = false;
  startClock();
  vi.restoreAllMocks();
});

const newcomer = () => {
  const username = unique("tia");
  return { username, name: "Tia", email: `${username}@example.com`, password: PASSWORD };
};

it("a network has 20 attempts a day, whatever their outcome; others and the next day are free", async () => {
  const { email } = await signedUp();
  services.settings.rateLimits = true;
  // The limits per minute are off, because this test is about the daily one.
  for (const limit of [env.RATE_LIMIT_SIGN_IN, env.RATE_LIMIT_ADDRESS])
    vi.spyOn(limit, "limit").mockResolvedValue({ success: true });
  const network = `2001:db8:${(Math.random() * 65_535) | 0}:1`;
  const send = (form: Record<string, string>, address = `${network}::1`) =>
    new Visitor().send("/sign-up", form, { "cf-connecting-ip": address });
  expect((await send({ ...newcomer(), email })).html).toContain(
    "An account with this email address exists",
  );
  for (let n = 1; n < 20; n++) await limitSignUpAttempts(services, network);
  const refused = await Promise.all([
    send({ ...newcomer(), email }, `${network}::2`),
    send(newcomer()),
  ]);
  for (const { status, html } of refused) {
    expect(status).toBe(429);
    expect(html).toContain("Too many sign-up attempts from your network today (20 are allowed)");
    expect(html).not.toContain("An account with this email address exists");
  }
  expect((await send(newcomer(), "198.51.100.7")).status).toBe(303);
  advance(86_400);
  expect((await send(newcomer())).status).toBe(303);
});

it("a count of attempts has no address of its network, and goes with its day", async () => {
  await limitSignUpAttempts(services, "203.0.113.9");
  expect(JSON.stringify(await run("SELECT * FROM sign_up_attempts"))).not.toContain("203.0.113");
  await sweepSessions(services, Date.now() + 2 * 86_400_000);
  expect(await run("SELECT * FROM sign_up_attempts")).toEqual([]);
});
