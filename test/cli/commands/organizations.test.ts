/** `auspex orgs`, `switch` and `whoami` for members of organizations, and sharing a model. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Home } from "../support/command.ts";

const AT = "2026-11-26T00:00:00.000Z";
const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const PROFILE = { avatar_url: "", bio: "", urls: [], location: "", company: "" };
const DATES = { created_at: AT, updated_at: AT };
const ACCOUNTS: Record<string, { username: string; kind: "user" | "organization" }> = {
  aus_ada: { username: "ada", kind: "user" },
  aus_acme: { username: "acme", kind: "organization" },
};
const ROLE = { role: "developer", requires_second_factor: false };
const ACME = { id: ID, username: "acme", name: "Acme", ...PROFILE, ...ROLE, ...DATES };

/** The requests that change something. */
let changes: { line: string; token: string; body: unknown }[];
/** The tokens that the deployment refuses. */
let ended: Set<string>;
let refusal: string | undefined;
let server: Server;
let url: string;
let home: Home;

function answer(line: string, token: string): [status: number, body: unknown] {
  const account = ended.has(token) ? undefined : ACCOUNTS[token];
  if (!account) return [401, { detail: "The access token is unknown." }];
  const isOwn = account.kind === "user";
  if (line === "GET /v1/user") {
    const organizations = isOwn ? [{ username: "acme", role: "developer" }] : [];
    return [200, { id: ID, name: "", ...account, ...PROFILE, organizations, ...DATES }];
  }
  if (line === "GET /v1/organizations") return [200, [ACME]];
  if (line === "POST /v1/organizations/acme/tokens" && refusal !== undefined)
    return [
      403,
      { request_id: "1", title: "Forbidden", status: 403, detail: refusal, type: "forbidden" },
    ];
  if (line === "POST /v1/organizations/acme/tokens") return [200, { id: ID, token: "aus_acme" }];
  const shared = {
    account: { id: ID, username: "grace", avatar_url: "", kind: "user" },
    ...{ level: "write", created_at: AT },
  };
  if (line.startsWith("GET /v1/models/ada/story/collaborators"))
    return [
      200,
      {
        items: [shared],
        next_cursor: null,
        previous_cursor: null,
        next_url: null,
        previous_url: null,
      },
    ];
  return [line.includes("/collaborators/grace") ? 200 : 404, shared];
}

beforeEach(async () => {
  [changes, ended, refusal] = [[], new Set(), undefined];
  server = createServer(async (request, response) => {
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const line = `${request.method} ${request.url}`;
    let body = "";
    for await (const chunk of request) body += chunk;
    if (request.method !== "GET")
      changes.push({ line, token, body: body === "" ? undefined : JSON.parse(body) });
    const [status, said] = answer(line, token);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  home = new Home();
  await says(["login", url], `Logged in to ${url} as ada.\n`, "aus_ada");
});
afterEach(() => {
  server.close();
  home.remove();
});

async function says(args: string[], out: string, input = "") {
  const told = await home.call(args, { input });
  expect(told).toMatchObject({ code: 0, out });
}

const fails = async (args: string[], code: number, message: string, environment = {}) =>
  expect(await home.call(args, { environment })).toMatchObject({
    ...{ code, out: "", err: expect.stringContaining(message) },
  });

test("switch makes a token for the organization once, which commands use until the switch back", async () => {
  await says(["whoami"], `ada at ${url}\n`);
  await says(["switch", "acme"], `Commands now act as acme at ${url}.\n`);
  const making = { name: `auspex on ${hostname()}`.slice(0, 100) };
  const line = "POST /v1/organizations/acme/tokens";
  expect(changes).toEqual([{ line, token: "aus_ada", body: making }]);
  await says(["whoami"], `acme (organization, your role: developer) at ${url}\n`);
  const { out } = await home.call(["whoami", "--json"]);
  expect(JSON.parse(out)).toEqual({
    username: "acme",
    url,
    kind: "organization",
    role: "developer",
  });
  const list = await home.call(["orgs"]);
  expect(list.out).toMatch(/^ORGANIZATION +ROLE +CURRENT +NAME\nacme +developer +yes +Acme\n$/);
  await says(["switch"], `Commands now act as ada at ${url}.\n`);
  await says(["whoami"], `ada at ${url}\n`);
  await says(["switch", "acme"], `Commands now act as acme at ${url}.\n`);
  await says(["switch", "ada"], `Commands now act as ada at ${url}.\n`);
  expect(changes).toHaveLength(1);
  expect(JSON.parse((await home.call(["orgs", "--json"])).out)).toEqual([ACME]);
});

test("switch makes another token when the one that it has kept was revoked", async () => {
  await home.call(["switch", "acme"]);
  ended.add("aus_acme");
  expect((await home.call(["whoami"])).code).toBe(1);
  await home.call(["switch", "acme"]);
  expect(changes).toHaveLength(2);
});

test("switch says what to do where it cannot switch", async () => {
  await fails(["switch", "other"], 1, "You are not a member of other");
  await fails(["switch", "acme"], 2, "AUSPEX_TOKEN is set", { AUSPEX_TOKEN: "aus_ada" });
  refusal = "This token cannot be created: your own token lacks the scope predict.";
  await fails(["switch", "acme"], 1, `${refusal}\nCreate a token at ${url}/organizations/acme`);
  await says(["login", url], `Logged in to ${url} as acme.\n`, "aus_acme");
  await fails(["switch", "other"], 1, "Log in with a token of your own account: auspex login");
  await home.call(["logout"]);
  await fails(["switch", "acme"], 2, "Not logged in. Run auspex login first.");
});

test("models share, unshare and collaborators change and list who has a model", async () => {
  await says(["models", "share", "story", "grace"], "grace can now run ada/story.\n");
  const writing = ["models", "share", "ada/story", "grace", "--level", "write"];
  await says(writing, "grace can now run and publish ada/story.\n");
  await says(
    ["models", "unshare", "story", "grace"],
    "ada/story is no longer shared with grace.\n",
  );
  const place = "/v1/models/ada/story/collaborators/grace";
  expect(changes.map(({ line, body }) => [line, body])).toEqual([
    [`PUT ${place}`, { level: "run" }],
    [`PUT ${place}`, { level: "write" }],
    [`DELETE ${place}`, undefined],
  ]);
  const { out } = await home.call(["models", "collaborators", "story"]);
  expect(out).toMatch(/^ACCOUNT +LEVEL +SINCE\ngrace +write +2026-11-26/);
  await fails(
    ["models", "share", "story", "grace", "--level", "admin"],
    2,
    "Use one of run, write.",
  );
});
