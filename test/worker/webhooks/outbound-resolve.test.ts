/** Name resolution of webhooks, which go to public addresses only. */
import { afterEach, describe, expect, test } from "vitest";
import { post } from "../../../src/outbound/post.ts";
import { resolve } from "../../../src/outbound/resolve.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { impatient, patient, records, resolving, says, type Zone } from "../support/outbound.ts";
import { exchanged, received, script } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const NAME = "hooks.example.com";
const never = new AbortController().signal;

afterEach(startClock);

/** Posts a webhook to a host of the zone. Returns the outcome. */
async function outcomeWith(zone: Zone, limits = patient) {
  const { settings } = await resolving(NAME, zone, limits);
  const url = `https://${NAME}/hook?token=hunter2`;
  return post({ url, headers: {}, body: "{}" }, settings);
}

const addressesWith = async (zone: Zone) => {
  const { settings } = await resolving(NAME, zone);
  return resolve(NAME, settings.resolver, never);
};

describe("a host", () => {
  test("a host has all IPv4 and IPv6 addresses at the end of its aliases", async () => {
    const found = await addressesWith({
      A: [records(["CNAME edge.example.net.", "A 93.184.215.14", "A 93.184.215.15"])],
      AAAA: [records(["CNAME edge.example.net.", "AAAA 2606:4700::1"])],
    });
    expect(found).toEqual(["93.184.215.14", "93.184.215.15", "2606:4700::1"]);
  });

  test("a host may have addresses of one kind only", async () => {
    expect(await addressesWith({ A: [records(["A 93.184.215.14"])] })).toEqual(["93.184.215.14"]);
    expect(await addressesWith({ AAAA: [records(["AAAA 2606:4700::1"])] })).toEqual([
      "2606:4700::1",
    ]);
  });

  test("a host's A and AAAA records are requested as JSON", async () => {
    const { path, settings } = await resolving(NAME, { A: [records(["A 93.184.215.14"])] });
    await resolve(NAME, settings.resolver, never);
    const asked = await received(path, 2);
    expect(asked.map(({ method, query }) => `${method} ${query}`)).toEqual([
      `GET ?name=${NAME}&type=A`,
      `GET ?name=${NAME}&type=AAAA`,
    ]);
    expect(asked[0]?.headers.accept).toBe("application/dns-json");
  });
});

test.each<Behaviour>(["silent", "endless"])(
  "the AAAA request waits for the A request, also if that is %s",
  async (behaviour) => {
    const zone = { A: [behaviour], AAAA: [behaviour] };
    const { path, settings } = await resolving(NAME, zone, impatient);
    await post({ url: `https://${NAME}/`, headers: {}, body: "{}" }, settings);
    expect((await exchanged(path)).map(({ query }) => query)).toEqual([`?name=${NAME}&type=A`]);
  },
);

const INSIDE = `${NAME} is not on the public internet. Use a public URL`;

describe("a name with a private address", () => {
  test.each<[string, Zone]>([
    ["loopback", { A: [records(["A 127.0.0.1"])] }],
    ["a private network", { A: [records(["A 10.1.2.3"])] }],
    ["metadata", { A: [records(["A 169.254.169.254"])] }],
    ["Azure's machines", { A: [records(["A 168.63.129.16"])] }],
    ["loopback in IPv6", { AAAA: [records(["AAAA ::1"])] }],
    ["a unique local address", { AAAA: [records(["AAAA fd00:ec2::254"])] }],
    ["a mapped address", { AAAA: [records(["AAAA ::ffff:169.254.169.254"])] }],
    ["NAT64", { AAAA: [records(["AAAA 64:ff9b::a9fe:a9fe"])] }],
    ["a private address among several", { A: [records(["A 93.184.215.14", "A 192.168.1.1"])] }],
    [
      "a private address of the other kind",
      { A: [records(["A 93.184.215.14"])], AAAA: [records(["AAAA fe80::1"])] },
    ],
    ["an invalid address", { A: [records(["A 127.1"])] }],
  ])("a name is refused for %s", async (_, zone) => {
    // Loopback is allowed by these settings only as a literal in the URL, not from a name server.
    expect(await outcomeWith(zone)).toEqual({ status: null, error: INSIDE });
  });

  test("a name with a private address is refused, also if it was public 11 s ago", async () => {
    stopClock();
    const rebound = await resolving(NAME, {
      A: [records(["A 93.184.215.14"], 0), records(["A 127.0.0.1"], 0)],
    });
    const ask = () => resolve(NAME, rebound.settings.resolver, never);
    expect(await ask()).toEqual(["93.184.215.14"]);
    advance(11);
    const url = `https://${NAME}/`;
    expect(await post({ url, headers: {}, body: "{}" }, rebound.settings)).toEqual({
      status: null,
      error: INSIDE,
    });
  });
});

describe("a name that cannot be resolved", () => {
  const spelt = `${NAME} does not resolve to an address: check its spelling`;
  const failed = `${NAME} could not be resolved`;
  const good = records(["A 93.184.215.14"]);

  test.each<[string, Zone, string]>([
    ["it does not exist", { A: [says({ Status: 3 })], AAAA: [says({ Status: 3 })] }, spelt],
    ["it has no addresses", {}, spelt],
    ["it is an alias of a missing name", { A: [records(["CNAME gone.example.net."])] }, spelt],
    ["its name server fails", { A: [says({ Status: 2 })] }, `the name server of ${NAME} failed`],
    [
      "one of its requests fails",
      { A: [good], AAAA: [says({ Status: 2 })] },
      `the name server of ${NAME} failed`,
    ],
  ])("a name is refused because %s", async (_, zone, error) => {
    expect(await outcomeWith(zone)).toEqual({ status: null, error });
  });

  test.each<[string, Behaviour]>([
    ["is silent", "silent"],
    ["resets", "reset"],
    ["sends no HTTP", "garbage"],
    ["never ends its answer", "endless"],
    ["stalls in its answer", "stalled"],
    ["sends no JSON", { status: 200, body: "<html>" }],
    ["sends nothing", { status: 200 }],
    ["sends other JSON", says({ Status: "well" })],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    ["is overloaded", { status: 503, body: "later" }],
    ["sends too much", records(Array.from({ length: 1_000 }, () => "A 93.184.215.14"))],
  ])("a name is refused because the resolver %s", async (_, behaviour) => {
    const zone = { A: [good], AAAA: [behaviour] };
    expect(await outcomeWith(zone, impatient)).toEqual({ status: null, error: failed });
  });
});

describe("the cache of addresses", () => {
  const later = ["93.184.215.99"];

  /** Resolves the name twice, `seconds` apart, with other records meanwhile. Returns the second result. */
  async function again(ttl: number, seconds: number): Promise<string[]> {
    stopClock();
    const { settings } = await resolving(NAME, {
      A: [records(["A 93.184.215.14"], ttl), records([`A ${later}`], ttl)],
    });
    await resolve(NAME, settings.resolver, never);
    advance(seconds);
    return resolve(NAME, settings.resolver, never);
  }

  test.each([
    ["10 s when its records say less", 0, 9, 11],
    ["as long as its records say", 30, 29, 31],
    ["a minute when its records say more", 86_400, 59, 61],
  ])("addresses are cached for %s", async (_, ttl, within, after) => {
    expect(await again(ttl, within)).toEqual(["93.184.215.14"]);
    expect(await again(ttl, after)).toEqual(later);
  });

  test("a failed resolution is not cached", async () => {
    const { path, settings } = await resolving(NAME, { A: [says({ Status: 2 })] });
    await expect(resolve(NAME, settings.resolver, never)).rejects.toThrow(
      `the name server of ${NAME} failed`,
    );
    await script(`${path}?name=${NAME}&type=A`, records([`A ${later}`]));
    expect(await resolve(NAME, settings.resolver, never)).toEqual(later);
  });
});
