/** Rate limits, turned on. */
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { newToken } from "../../../src/domain/accounts/token.ts";
import type { FileAddress } from "../../../src/protocol/file.ts";
import { sessionResponse } from "../../../src/protocol/runner.ts";
import { runnerSnapshot } from "../../protocol/runner-snapshot.ts";
import type { Client } from "../support/client.ts";
import { fileUrl, uploaded } from "../support/files.ts";
import {
  ask,
  askUntilRefused,
  expectRefusal,
  LIMITS,
  newAddress,
  questions,
} from "../support/limited.ts";
import { sessionBody } from "../support/runner.ts";
import { newClient, newRunnerToken, newUser, operator } from "../support/world.ts";

const PUBLIC = "/v1/models/nobody/nothing";
const OWN = "/v1/predictions";

/** A well-formed token that does not exist. */
const UNKNOWN = `aus_${"0".repeat(49)}`;

const tokenOf = ({ token }: Client) => token ?? "";

describe("requests without a token", () => {
  test("an address is limited, and no other with it", async () => {
    const address = newAddress();
    const response = await askUntilRefused(LIMITS.address, () => ask(PUBLIC, address));
    await expectRefusal(response, "from this IP address");
    expect((await ask(PUBLIC, newAddress())).status).toBe(404);
  });

  test("an IPv6 address counts as its /64", async () => {
    const network = "2001:db8:1";
    let host = 0;
    await askUntilRefused(LIMITS.address, () => {
      const address = host++ % 2 ? `${network}::${host}` : `${network}:0:1:2:3:${host}`;
      return ask(PUBLIC, address);
    });
    expect((await ask(PUBLIC, `${network}:1::1`)).status).toBe(404);
  });

  test.each([
    ["a bad token", OWN, UNKNOWN],
    ["a bad token where none is needed", PUBLIC, UNKNOWN],
    ["a bad runner token", "/v1/runner/input", UNKNOWN],
    ["a bad operator token", "/v1/operator/runners", UNKNOWN],
    ["a missing token", OWN, undefined],
  ])("guesses with %s are limited", async (_, path, token) => {
    const address = newAddress();
    const response = await askUntilRefused(LIMITS.address, async () => {
      const answer = await ask(path, address, token);
      expect([401, 429]).toContain(answer.status);
      return answer;
    });
    await expectRefusal(response, "from this IP address");
  });
});

describe("a forged token", () => {
  test("a forged token is counted before D1 is asked, even if each one is different", async () => {
    const address = newAddress();
    await askUntilRefused(LIMITS.address, () => ask(OWN, address, newToken("aus")));
    questions.length = 0;
    // A window may have ended meanwhile: then D1 gets as many queries as there are answers 401.
    const answers = await Promise.all(
      Array.from({ length: LIMITS.address }, async (_, n) => {
        const token = newToken(n % 2 ? "aus" : "ausr");
        return (await ask(n % 2 ? OWN : "/v1/runner/input", address, token)).status;
      }),
    );
    const lookedUp = questions.filter((text) => /from "(runner_)?tokens"/.test(text));
    expect(lookedUp).toHaveLength(answers.filter((status) => status === 401).length);
    expect(answers).toContain(429);
  });

  test("forged tokens keep out no account whose token was valid before", async () => {
    const { client } = await newUser();
    const address = newAddress();
    expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
    await askUntilRefused(LIMITS.address, () => ask(OWN, address, newToken("aus")));
    expect((await ask(OWN, address, tokenOf(client))).status).toBe(200);
  });
});

describe("a signed address", () => {
  const id = () => crypto.randomUUID();
  const forged = (source: string) =>
    `/v1/files/${source}/a.txt?expires=1999999999&signature=${"A".repeat(43)}`;

  /**
   * Uploads a file, and signs its address in this isolate: another one may still remember the key of another
   * test file's database.
   */
  async function shared(): Promise<URL> {
    const { client } = await newUser();
    const { pathname } = new URL(fileUrl(await uploaded(client)));
    const init = { method: "POST", body: "{}" };
    const sharing = await ask(`${pathname}/addresses`, newAddress(), tokenOf(client), init);
    return new URL((await sharing.json<FileAddress>()).url);
  }

  test("a forged address counts against the client's address, whatever file it names", async () => {
    const address = newAddress();
    const response = await askUntilRefused(LIMITS.address, () => ask(forged(id()), address));
    await expectRefusal(response, "from this IP address");
  });

  test("a forged address takes nothing from clients that have the file's signed address", async () => {
    const { pathname, search } = await shared();
    const guess = `${pathname}?expires=1999999999&signature=${"A".repeat(43)}`;
    for (let n = 0; n < LIMITS.token; n++) await ask(guess, newAddress());
    for (let n = 0; n < LIMITS.token; n++) {
      const response = await ask(pathname + search, "198.51.100.1");
      expect([response.status, await response.text()]).toEqual([200, "content"]);
    }
  });

  test("a picture that one visitor requests too often is still shown to others", async () => {
    const { pathname, search } = await shared();
    const busy = newAddress();
    await askUntilRefused(LIMITS.token, () => ask(pathname + search, busy));
    const other = await ask(pathname + search, newAddress());
    expect([other.status, await other.text()]).toEqual([200, "content"]);
  });

  test("a signed address is limited over all addresses together", async () => {
    const { pathname, search } = await shared();
    const response = await askUntilRefused(LIMITS.user, () => ask(pathname + search, newAddress()));
    await expectRefusal(response, "for this file");
  });

  test("a forged address of a part counts as well", async () => {
    const address = newAddress();
    const path = () =>
      `/v1/uploads/${id()}/parts/1?size=1&expires=1999999999&signature=${"A".repeat(43)}`;
    await askUntilRefused(LIMITS.address, () => ask(path(), address, undefined, { method: "PUT" }));
  });
});

describe("an account", () => {
  test("an account is limited over all its tokens", async () => {
    const { client, username } = await newUser();
    const tokens = [client, await newClient(username), await newClient(username)].map(tokenOf);
    let asked = 0;
    const response = await askUntilRefused(LIMITS.user, () =>
      ask(asked % 2 ? OWN : PUBLIC, newAddress(), tokens[asked++ % tokens.length]),
    );
    await expectRefusal(response, "across all its tokens");
    const { client: stranger } = await newUser();
    expect((await ask(OWN, newAddress(), tokenOf(stranger))).status).toBe(200);
  });

  test("an account has a separate limit of changes over all its tokens, and may still read", async () => {
    const { client, username } = await newUser();
    const tokens = [client, await newClient(username)].map(tokenOf);
    const body = (change: object) => ({ body: JSON.stringify(change) });
    const changes = [
      ["POST", "/v1/models", {}],
      ["PATCH", "/v1/user", { name: "Ada" }],
      ["PUT", "/v1/models/nobody/nothing/variables/KEY", { value: "a" }],
      ["POST", "/v1/uploads", {}],
      ["POST", "/v1/webhook-endpoints", {}],
      ["POST", "/v1/models/nobody/nothing/versions", {}],
    ] as const;
    let asked = 0;
    const response = await askUntilRefused(LIMITS.writes, () => {
      const [method, path, change] = changes[asked % changes.length] ?? changes[0];
      const token = tokens[asked++ % 2];
      return ask(path, newAddress(), token, { method, ...body(change) });
    });
    await expectRefusal(response, "changes by this account");
    expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
  });
});

describe("the remaining requests", () => {
  const said = ({ headers }: Response) =>
    ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}`));

  test("an answer states the remaining requests of the nearest limit", async () => {
    const { client } = await newUser();
    const before = Math.floor(Date.now() / 1_000);
    const first = await ask(OWN, newAddress(), tokenOf(client));
    const [limit, remaining, reset] = said(first).map(Number);
    expect([limit, remaining]).toEqual([LIMITS.token, LIMITS.token - 1]);
    expect(reset).toBeGreaterThanOrEqual(before + 1);
    expect(reset).toBeLessThanOrEqual(Math.floor(Date.now() / 1_000) + 10);
    const { client: other } = await newUser();
    const refused = await askUntilRefused(LIMITS.token, () =>
      ask(OWN, newAddress(), tokenOf(other)),
    );
    expect(said(refused).slice(0, 2)).toEqual([String(LIMITS.token), "0"]);
    expect(refused.headers.get("retry-after")).toBe("10");
  });

  test("an answer to an address, an error and an answer of vendora state the remaining requests", async () => {
    const open = await ask(PUBLIC, newAddress());
    expect(open.status).toBe(404);
    expect(said(open).slice(0, 2)).toEqual([String(LIMITS.address), String(LIMITS.address - 1)]);
    const { client } = await newUser();
    const call = await ask("/v1/vendora/chat/completions", newAddress(), tokenOf(client), {
      method: "POST",
      body: JSON.stringify({ model: "nobody/nothing", messages: [] }),
    });
    expect(call.status).toBe(404);
    const left = String(LIMITS.predictions - 1);
    expect(said(call)).toEqual([null, null, null]);
    expect(call.headers.get("x-ratelimit-limit-requests")).toBe(String(LIMITS.predictions));
    expect(call.headers.get("x-ratelimit-remaining-requests")).toBe(left);
    expect(call.headers.get("x-ratelimit-reset-requests")).toMatch(/^\d+s$/);
  });

  test("an answer states no remaining requests where nothing is limited", async () => {
    const response = await app.request(PUBLIC, {}, env);
    expect(said(response)).toEqual([null, null, null]);
  });
});

describe("requests with a token", () => {
  test("a token is limited wherever it is used from, and its owner's other token is not", async () => {
    const { client, username } = await newUser();
    const paths = [OWN, PUBLIC];
    const response = await askUntilRefused(LIMITS.token, async () => {
      const path = paths.reverse()[0] ?? "";
      return ask(path, newAddress(), tokenOf(client));
    });
    await expectRefusal(response, "this token");
    const other = await newClient(username);
    expect((await ask(OWN, newAddress(), tokenOf(other))).status).toBe(200);
  });

  test("an address with a token may send more than one without", async () => {
    const { client } = await newUser();
    const address = newAddress();
    for (let n = 0; n <= LIMITS.address; n++)
      expect((await ask(OWN, address, tokenOf(client))).status).toBe(200);
  });

  test("a token without the scope is limited as well", async () => {
    const { username } = await newUser();
    const client = await newClient(username, { scopes: ["predict"] });
    await askUntilRefused(LIMITS.token, () => ask(OWN, newAddress(), tokenOf(client)));
  });
});

describe("creating predictions", () => {
  const PATHS = [OWN, "/v1/models/nobody/nothing/predictions"];
  const create = (token: string, path = OWN) =>
    ask(path, newAddress(), token, {
      method: "POST",
      body: JSON.stringify({ model: "nobody/nothing", input: {} }),
    });

  test("an account is limited over all its tokens, and may still read", async () => {
    const { client, username } = await newUser();
    const tokens = [tokenOf(client), tokenOf(await newClient(username))];
    let asked = 0;
    const response = await askUntilRefused(LIMITS.predictions, () => {
      const [token = "", path] = [tokens[asked % 2], PATHS[(asked >> 1) % 2]];
      asked++;
      return create(token, path);
    });
    await expectRefusal(response, "predictions and webhook redeliveries by this account");
    expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
    const { client: stranger } = await newUser();
    expect((await create(tokenOf(stranger))).status).toBe(404);
  });

  test("a create does not count against the token", async () => {
    const { client } = await newUser();
    for (let n = 0; n < LIMITS.predictions; n++) await create(tokenOf(client));
    for (let n = 0; n < LIMITS.token; n++)
      expect((await ask(OWN, newAddress(), tokenOf(client))).status).toBe(200);
  });
});

describe("a runner token", () => {
  const registering = (token: string) =>
    ask("/v1/runner/sessions", newAddress(), token, { method: "POST", body: "{}" });
  const reporting = (token: string) =>
    ask("/v1/runner/telemetry", newAddress(), token, { method: "POST", body: "{}" });

  test("a runner token is limited where its runners register and report, because each call writes", async () => {
    const token = await newRunnerToken("cpu");
    let asked = 0;
    const response = await askUntilRefused(LIMITS.token, () =>
      asked++ % 2 ? registering(token) : reporting(token),
    );
    await expectRefusal(response, "this token");
    expect((await ask("/v1/runner/input", newAddress(), token)).status).toBe(404);
    expect((await registering(await newRunnerToken("cpu"))).status).toBe(422);
  });
});

describe("calls of runners that reach their pool", () => {
  async function limitedRunner() {
    const token = await newRunnerToken("cpu");
    const begin = async (name: string) => {
      const init = { method: "POST", body: JSON.stringify(sessionBody("cpu", name)) };
      const response = await ask("/v1/runner/sessions", newAddress(), token, init);
      return sessionResponse.parse(await response.json());
    };
    const tell = (session: object) => {
      const body = JSON.stringify({ ...session, pool: "cpu", snapshot: runnerSnapshot() });
      return ask("/v1/runner/state", newAddress(), token, { method: "POST", body });
    };
    return { begin, tell };
  }

  test("a runner at its limit leaves another runner of the token its own", async () => {
    const { begin, tell } = await limitedRunner();
    const [one, two] = [await begin("one"), await begin("two")];
    await tell(one);
    expect((await tell(two)).status).toBe(200);
    await expectRefusal(await askUntilRefused(LIMITS.token, () => tell(one)), "this token");
    expect((await tell(two)).status).toBe(200);
  });

  test.each([
    [
      "made-up runner IDs",
      () => ({ runner_id: crypto.randomUUID(), session: crypto.randomUUID() }),
    ],
    ["bodies that are invalid", () => ({ runner_id: 1 })],
  ])("%s count against the limit of the token", async (_, body) => {
    const { tell } = await limitedRunner();
    await expectRefusal(await askUntilRefused(LIMITS.token, () => tell(body())), "this token");
  });
});

describe("unlimited calls", () => {
  const ATTEMPTS = 2 * LIMITS.token + 1;

  test("calls of the operator are not limited", async () => {
    const address = newAddress();
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await ask("/v1/operator/runners", address, operator.token)).status).toBe(200);
  });

  test("other calls of runners are not limited", async () => {
    const address = newAddress();
    const token = await newRunnerToken("cpu");
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await ask("/v1/runner/unknown", address, token)).status).toBe(404);
  });

  test("calls are not limited while RATE_LIMITS is off", async () => {
    for (let n = 0; n < ATTEMPTS; n++)
      expect((await app.request(PUBLIC, {}, env)).status).toBe(404);
  });
});
