/** A webhook goes to public addresses only, whatever the name server of its host says. */
import { afterEach, describe, expect, test } from "vitest";
import { post } from "../../../src/outbound/post.ts";
import { resolve } from "../../../src/outbound/resolve.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { records, resolving, says, type Zone } from "../support/outbound.ts";
import { exchanged, received, script } from "../support/receiver.ts";
import { advance, startClock, stopClock } from "../support/time.ts";

const NAME = "hooks.example.com";
const never = new AbortController().signal;

afterEach(startClock);

/** What becomes of a webhook to a host of that zone. */
async function outcomeWith(zone: Zone) {
  const { settings } = await resolving(NAME, zone);
  const url = `https://${NAME}/hook?token=hunter2`;
  return post({ url, headers: {}, body: "{}" }, settings);
}

const addressesWith = async (zone: Zone) => {
  const { settings } = await resolving(NAME, zone);
  return resolve(NAME, settings.resolver, never);
};

describe("a host", () => {
  test("has all the addresses of both kinds, at the end of its aliases", async () => {
    const found = await addressesWith({
      A: [records(["CNAME edge.example.net.", "A 93.184.215.14", "A 93.184.215.15"])],
      AAAA: [records(["CNAME edge.example.net.", "AAAA 2606:4700::1"])],
    });
    expect(found).toEqual(["93.184.215.14", "93.184.215.15", "2606:4700::1"]);
  });

  test("may have those of one kind only", async () => {
    expect(await addressesWith({ A: [records(["A 93.184.215.14"])] })).toEqual(["93.184.215.14"]);
    expect(await addressesWith({ AAAA: [records(["AAAA 2606:4700::1"])] })).toEqual([
      "2606:4700::1",
    ]);
  });

  test("is asked for as what it is, in JSON", async () => {
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
  "one question at a time: while one is open (%s) there is no other",
  async (behaviour) => {
    const { path, settings } = await resolving(NAME, { A: [behaviour], AAAA: [behaviour] });
    await post({ url: `https://${NAME}/`, headers: {}, body: "{}" }, settings);
    expect((await exchanged(path)).map(({ query }) => query)).toEqual([`?name=${NAME}&type=A`]);
  },
);

const INSIDE = `${NAME} is not on the public internet: use a publicly reachable URL`;

describe("a name that leads inside is refused", () => {
  test.each<[string, Zone]>([
    ["loopback", { A: [records(["A 127.0.0.1"])] }],
    ["a private network", { A: [records(["A 10.1.2.3"])] }],
    ["metadata", { A: [records(["A 169.254.169.254"])] }],
    ["Azure's machines", { A: [records(["A 168.63.129.16"])] }],
    ["loopback in IPv6", { AAAA: [records(["AAAA ::1"])] }],
    ["a unique local address", { AAAA: [records(["AAAA fd00:ec2::254"])] }],
    ["a mapped address", { AAAA: [records(["AAAA ::ffff:169.254.169.254"])] }],
    ["NAT64", { AAAA: [records(["AAAA 64:ff9b::a9fe:a9fe"])] }],
    ["one of several", { A: [records(["A 93.184.215.14", "A 192.168.1.1"])] }],
    [
      "one of the other kind",
      { A: [records(["A 93.184.215.14"])], AAAA: [records(["AAAA fe80::1"])] },
    ],
    ["what is no address", { A: [records(["A 127.1"])] }],
  ])("to %s", async (_, zone) => {
    // Loopback is allowed by these settings: as a literal, not as what a name server says.
    expect(await outcomeWith(zone)).toEqual({ status: null, error: INSIDE });
  });

  test("also when it was public a moment ago", async () => {
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

describe("a name that nothing is known of is refused", () => {
  const spelt = `${NAME} does not resolve to an address: check its spelling`;
  const failed = `${NAME} could not be resolved`;
  const good = records(["A 93.184.215.14"]);

  test.each<[string, Zone, string]>([
    ["there is none", { A: [says({ Status: 3 })], AAAA: [says({ Status: 3 })] }, spelt],
    ["it has no addresses", {}, spelt],
    ["it is an alias of nothing", { A: [records(["CNAME gone.example.net."])] }, spelt],
    ["its name server fails", { A: [says({ Status: 2 })] }, `the name server of ${NAME} failed`],
    [
      "half of it fails",
      { A: [good], AAAA: [says({ Status: 2 })] },
      `the name server of ${NAME} failed`,
    ],
  ])("%s", async (_, zone, error) => {
    expect(await outcomeWith(zone)).toEqual({ status: null, error });
  });

  test.each<[string, Behaviour]>([
    ["is silent", "silent"],
    ["resets", "reset"],
    ["speaks no HTTP", "garbage"],
    ["never ends its answer", "endless"],
    ["stalls in its answer", "stalled"],
    ["speaks no JSON", { status: 200, body: "<html>" }],
    ["says nothing", { status: 200 }],
    ["says something else", says({ Status: "well" })],
    ["sends elsewhere", { status: 302, headers: { location: "http://127.0.0.1:1/" } }],
    ["is overloaded", { status: 503, body: "later" }],
    ["says too much", records(Array.from({ length: 1_000 }, () => "A 93.184.215.14"))],
  ])("the resolver %s", async (_, behaviour) => {
    expect(await outcomeWith({ A: [good], AAAA: [behaviour] })).toEqual({
      status: null,
      error: failed,
    });
  });
});

describe("what was found is remembered", () => {
  const later = ["93.184.215.99"];

  /** What is found again after so many seconds, when it has become something else meanwhile. */
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
  ])("for %s", async (_, ttl, within, after) => {
    expect(await again(ttl, within)).toEqual(["93.184.215.14"]);
    expect(await again(ttl, after)).toEqual(later);
  });

  test("and a failure is not", async () => {
    const { path, settings } = await resolving(NAME, { A: [says({ Status: 2 })] });
    await expect(resolve(NAME, settings.resolver, never)).rejects.toThrow(
      `the name server of ${NAME} failed`,
    );
    await script(`${path}?name=${NAME}&type=A`, records([`A ${later}`]));
    expect(await resolve(NAME, settings.resolver, never)).toEqual(later);
  });
});
