/** Addresses that a webhook may not go to, in every known spelling. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublic, urlRefusal } from "../../../src/domain/webhooks/address.ts";

const refusal = (address: string, allowInsecure = false) =>
  urlRefusal(new URL(address), allowInsecure);

const fixed = (length: number) => ({ minLength: length, maxLength: length });

const INSIDE = [
  // Loopback addresses.
  ...["127.0.0.1", "127.0.0.1.", "127.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1"],
  ...["0177.0.0.1", "017700000001", "%31%32%37.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "0", "0.0.0.0"],
  // Metadata services: most clouds, Alibaba, Oracle, Azure.
  ...["169.254.169.254", "0xA9FEA9FE", "2852039166", "0251.0376.0251.0376", "169.254.43518"],
  ...["100.100.100.200", "192.0.0.192", "168.63.129.16"],
  // Private and special networks, their first and last addresses.
  ...["10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255", "172.16.0.0"],
  ...["172.31.255.255", "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.1"],
  ...["198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"],
  ...["255.255.255.255"],
  // IPv6: loopback, none, link-local, site-local, unique local, multicast, discard, documentation.
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[fe80::1]", "[fec0::1]", "[fc00::1]"],
  ...["[fd00:ec2::254]", "[fd20:ce::254]", "[ff02::1]", "[100::1]", "[2001:db8::1]", "[3fff::1]"],
  ...["[5f00::1]"],
  // IPv6 addresses with an IPv4 address in them: mapped, compatible, translated, NAT64, 6to4, Teredo.
  ...["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:a9fe:a9fe]", "[::ffff:8.8.8.8]"],
  ...["[::127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]"],
  ...["[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]"],
  // Host names.
  ...["localhost", "localhost.", "LOCALHOST", "a.localhost", "ⓛocalhost", "intranet", "com"],
  ...["printer.local", "host.localdomain", "metadata.google.internal", "metadata.google.internal."],
  ...["kubernetes.default.svc.cluster.local", "host.docker.internal", "router.lan", "nas.home"],
  ...["nas.home.arpa", "wiki.corp", "a.intranet", "a.private", "a.test", "a.example", "a.invalid"],
  ...["a.alt", "a.onion"],
];

/** Public IP addresses, which are refused because webhooks need a host name. */
const NAMELESS = [
  ...["1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "168.63.129.15"],
  ...["169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "223.255.255.255"],
  ...["[2606:4700:4700::1111]", "[2a00:1450:4001::1]"],
];

const OUTSIDE = [
  ...["example.com", "hooks.example.com.", "localhost.example.com", "local.example.com"],
  ...["notlocalhost.com", "homes.arpa.example.com", "xn--bcher-kva.example.com"],
  ...["127.0.0.1.nip.io"],
];

test.each(NAMELESS)("nothing is posted to %s, which has no name", (host) => {
  expect(refusal(`https://${host}/hook`)).toMatch(/ is an IP address\. Use a host name/);
});

test.each(INSIDE)("nothing is posted to %s", (host) => {
  expect(refusal(`https://${host}/hook`)).toMatch(/ is not on the public internet\. Use /);
});

test.each([
  [".", "."],
  ["..", ".."],
  ["example.com..", "example.com.."],
  ["Example..com", "example..com"],
  [".example.com", ".example.com"],
  ["localhost..", "localhost.."],
  ["169.254.169.254..", "169.254.169.254.."],
])("nothing is posted to %s, wherever it resolves to", (host, named) => {
  const text = `Invalid host name '${named}': it starts with a dot, or contains two in a row`;
  expect(refusal(`https://${host}/hook`)).toBe(text);
  expect(refusal(`http://${host}/hook`, true)).toBe(text);
});

test.each(OUTSIDE)("a webhook may be posted to %s", (host) => {
  expect(refusal(`https://${host}:8443/hook?key=value`)).toBeUndefined();
});

describe("the text", () => {
  test.each([
    ["http://example.com/", "it is not https: use a URL that begins with https://"],
    ["ftp://example.com/", "it is not https: use a URL that begins with https://"],
    [
      "https://0x7f.1:8443/hook?token=hunter2",
      "127.0.0.1 is not on the public internet. Use a public URL",
    ],
  ])("the refusal of %s says what to do", (address, text) => expect(refusal(address)).toBe(text));

  test.each([
    "https://me:hunter2@example.com/",
    "https://hunter2@example.com/",
    "https://:hunter2@example.com/",
    "https://example.com:hunter2@127.0.0.1/?hunter2",
  ])("the refusal of %s names no secret", (address) => {
    expect(refusal(address)).toMatch(/user name or password/);
    expect(refusal(address)).not.toContain("hunter2");
  });
});

describe("where insecure ones are allowed", () => {
  test.each([
    ...["http://127.0.0.1:8080/hook", "https://127.9.9.9/", "http://2130706433/"],
    ...["http://[::1]:8080/", "http://localhost:8080/", "http://a.localhost./"],
    ...["http://example.com/", "https://example.com/"],
  ])("a webhook may be posted to %s if insecure addresses are allowed", (address) =>
    expect(refusal(address, true)).toBeUndefined(),
  );

  const others = INSIDE.filter(
    (host) => !/localhost|^127\.|^\[::1\]$/.test(new URL(`http://${host}`).hostname),
  );
  test("internal addresses other than loopback are refused even if insecure addresses are allowed", () => {
    expect(others.filter((host) => !refusal(`http://${host}/`, true))).toEqual([]);
    expect(others).toContain("169.254.169.254");
    expect(others).toContain("[::ffff:127.0.0.1]");
  });

  test.each(["ftp://127.0.0.1/", "http://me@127.0.0.1/"])(
    "the address %s is refused even if insecure addresses are allowed",
    (address) => {
      expect(refusal(address, true)).toBeDefined();
    },
  );
});

describe("any spelling of an IPv4 address", () => {
  const radix = fc.constantFrom(8, 10, 16);
  const zeros = fc.nat(3);

  /** Returns a part in octal, decimal or hexadecimal, with leading zeros where they are allowed. */
  const spelt = (value: number, [base, more]: [number, number]) => {
    if (base === 10) return String(value);
    const prefix = base === 16 ? "0x" : "0";
    return prefix + "0".repeat(more) + value.toString(base);
  };

  /** One to four parts, the last of which stands for all remaining octets. */
  const spelling = (octets: fc.Arbitrary<number[]>) =>
    fc
      .tuple(octets, fc.integer({ min: 1, max: 4 }), fc.array(fc.tuple(radix, zeros), fixed(4)))
      .map(([numbers, parts, ways]) => {
        const last = numbers.slice(parts - 1).reduce((sum, octet) => sum * 256 + octet, 0);
        const values = [...numbers.slice(0, parts - 1), last];
        return values.map((value, n) => spelt(value, ways[n] ?? [10, 0])).join(".");
      });

  const octet = fc.integer({ min: 0, max: 255 });
  const startingWith = (...first: number[]) =>
    fc.array(octet, fixed(4 - first.length)).map((others) => [...first, ...others]);

  const inside = fc.oneof(
    startingWith(10),
    startingWith(127),
    startingWith(0),
    startingWith(169, 254),
    startingWith(192, 168),
    startingWith(172, 16),
    startingWith(100, 64),
    startingWith(168, 63, 129, 16),
    startingWith(224),
  );

  test("any spelling of an internal IPv4 address is refused", () => {
    fc.assert(
      fc.property(spelling(inside), (host) => refusal(`https://${host}/`) !== undefined),
      { numRuns: 1_000 },
    );
  });

  test("any spelling of a public IPv4 address is recognized as an IP address", () => {
    fc.assert(
      fc.property(spelling(startingWith(93, 184)), (host) =>
        / is an IP address/.test(refusal(`https://${host}/`) ?? ""),
      ),
    );
  });

  test("an internal IPv4 address within an IPv6 address is refused", () => {
    const prefixes = ["::ffff:", "::", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"];
    fc.assert(
      fc.property(inside, fc.constantFrom(...prefixes), (octets, prefix) => {
        const address = prefix + octets.join(".");
        return !isPublic(address) && refusal(`https://[${address}]/`) !== undefined;
      }),
    );
  });
});

describe("what a resolver says", () => {
  test.each(["93.184.215.14", "2606:4700:4700::1111", "2606:4700:4700:0:0:0:0:1111"])(
    "the resolved address %s is public",
    (address) => expect(isPublic(address)).toBe(true),
  );

  test.each([
    ...["", "hooks.example.com.", "127.1", "2130706433", "0x5d.184.215.14", "093.184.215.14"],
    ...["93.184.215.14.", "93.184.215.256", "fe80::1%eth0", "2606:4700:4700::1111%1"],
    ...["[2606:4700:4700::1111]", "2606:4700:4700::1111/128", "::ffff:93.184.215.14"],
  ])("the resolved address %s is not public", (address) => expect(isPublic(address)).toBe(false));
});
