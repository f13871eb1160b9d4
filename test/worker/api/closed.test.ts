/** A closed deployment (ANONYMOUS = "none"): what answers without a token and a session, and what does not. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import { signInPages } from "../../../src/dashboard/sign-in/routes.tsx";
import { newToken } from "../../../src/domain/accounts/token.ts";
import type { Bindings } from "../../../src/env.ts";
import { OPEN_ROUTES } from "../../../src/middleware/closed.ts";
import { operationsIn } from "../../../src/openapi/document.ts";
import worker from "../../../src/worker.ts";
import { sized } from "../../support/sized.ts";
import { ORIGIN } from "../support/client.ts";
import { newCustomer } from "../support/customer.ts";
import { DASHBOARD_ROUTES, ORGANIZATION_ROUTES } from "../support/dashboard-routes.ts";
import { type DashboardUser, newDashboardUser } from "../support/dashboard-users.ts";
import { documentIn } from "../support/document.ts";
import { ENDPOINT_ACCESS } from "../support/endpoint-access.ts";
import { beginUpload, bytesOf, fileUrl, uploaded } from "../support/files.ts";
import { OPERATOR_ENDPOINTS } from "../support/operator-endpoints.ts";
import { newAvatar, newEndedRun, newJoining } from "../support/route-parameters.ts";
import type { Visitor } from "../support/visitor.ts";
import { newRunnerToken, newWorld } from "../support/world.ts";

const closed: Bindings = Object.assign({}, env, { ANONYMOUS: "none" });

const ask = async (path: string, init: RequestInit = {}): Promise<Response> =>
  worker.fetch(
    new Request<unknown, IncomingRequestCfProperties>(
      new URL(path.startsWith("http") ? path : ORIGIN + path),
      {
        redirect: "manual",
        ...init,
      } as RequestInit<IncomingRequestCfProperties>,
    ),
    closed,
    createExecutionContext(),
  );

const bearer = (token = "") => ({ authorization: `Bearer ${token}` });
const PAGE = { accept: "text/html" };

const cookiesOf = ({ cookies }: Visitor) => ({
  cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
});

/** A URL that the route matches. */
const addressOf = (path: string): string =>
  path.replace(/:\w+({.*?}(?=\/|$))?/g, "1").replaceAll("*", "1");

const document = await documentIn("A");
const dashboard = createDashboard(app);

/** Every route of the routers, of the OpenAPI document, and of the tables of tests. */
const ROUTES: string[] = [
  ...new Set([
    ...[...app.routes, ...dashboard.routes].map(({ method, path }) => `${method} ${path}`),
    ...operationsIn(document).map(
      ({ method, path }) => `${method.toUpperCase()} /v1${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
    ),
    ...Object.keys({ ...ENDPOINT_ACCESS, ...OPERATOR_ENDPOINTS, ...DASHBOARD_ROUTES }),
    ...ORGANIZATION_ROUTES.map(([key]) => key),
  ]),
].filter((key) => !key.endsWith(" /*"));

/** Credentials that are none. */
const NOBODIES: [who: string, headers: Record<string, string>][] = [
  ["nobody", {}],
  ["nobody in a browser", PAGE],
  ["a token that was never made", bearer(newToken("aus"))],
  ["a runner token that was never made", bearer(newToken("ausr"))],
  ["a key of no token", { "x-api-key": "secret", ...bearer("secret") }],
  ["a cookie of no session", { cookie: "__Host-auspex.session_token=a.b", ...PAGE }],
];

/** Asks, and returns whether the request was sent to the login or told to send a token. */
async function isRefused(path: string, init: RequestInit): Promise<boolean> {
  const response = await ask(path, init);
  const text = await response.text();
  const location = response.headers.get("location") ?? "";
  expect(response.headers.get("cache-control")).toBe("no-store");
  if (response.status === 303) return location === `/sign-in?next=${encodeURIComponent(path)}`;
  return response.status === 401 && (init.method === "HEAD" || text !== "");
}

describe("a closed deployment", () => {
  it("the list of open routes has only routes that exist, and all pages to log in", () => {
    expect([...OPEN_ROUTES].filter((key) => !ROUTES.includes(key))).toEqual([]);
    const toSignIn = signInPages.routes.map(({ method, path }) => `${method} ${path}`);
    expect(toSignIn.filter((key) => !OPEN_ROUTES.has(key))).toEqual([]);
  });

  // Each route is tried with one of the six, and at night with all.
  const tried = (nobody: number, route: number) => sized(nobody === route % NOBODIES.length, true);
  const cases = NOBODIES.map(([who, headers], n) => ({ who, headers, n }));

  it.each(cases)("every route but the listed ones refuses $who", async ({ headers, n }) => {
    const through: string[] = [];
    const protectedRoutes = ROUTES.filter((one) => !OPEN_ROUTES.has(one));
    for (const key of protectedRoutes.filter((_, route) => tried(n, route))) {
      const [method = "", path = ""] = key.split(" ");
      for (const as of method === "ALL"
        ? ["GET", "POST"]
        : method === "GET"
          ? ["GET", "HEAD"]
          : [method])
        if (!(await isRefused(addressOf(path), { method: as, headers })))
          through.push(`${as} ${path}`);
    }
    expect(through).toEqual([]);
  });

  it.each([
    "/nothing",
    "/v1/nothing",
    "/manifest.json",
    "/docs/calling.json",
    "/docs-passages.json",
    "/V1/models",
    "//v1/models",
    "/v1/models/",
  ])("%s, which no route has, refuses nobody differently", async (path) => {
    expect(await isRefused(path, { headers: PAGE })).toBe(true);
    expect(await isRefused(path, {})).toBe(true);
  });

  it("a refusal is in the format of the convention, and says what to send", async () => {
    const send = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    const refusal = async (path: string) => {
      const response = await ask(path, send);
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer/);
      return response.json();
    };
    const detail = expect.stringContaining("Send an access token");
    for (const path of ["/v1/models", "/replicate/v1/models"])
      expect(await refusal(path)).toMatchObject({ type: "urn:auspex:unauthenticated", detail });
    expect(await refusal("/openai/v1/chat/completions")).toMatchObject({
      error: { code: "invalid_api_key", message: detail },
    });
    expect(await refusal("/anthropic/v1/messages")).toMatchObject({
      type: "error",
      error: { type: "authentication_error", message: detail },
    });
    expect(await refusal("/v2/ada/story/blobs/uploads/")).toMatchObject({
      errors: [{ code: "UNAUTHORIZED" }],
    });
  });

  it("the registry challenges clients without a token, and gives no token to nobody", async () => {
    const challenge = (await ask("/v2/")).headers.get("www-authenticate");
    expect(challenge).toBe(`Bearer realm="${ORIGIN}/v2/token",service="auspex.test"`);
    expect((await ask("/v2/token")).status).toBe(401);
    const { client, model } = await newWorld({ visibility: "public" });
    const tags = `/v2/${model}/tags/list`;
    expect((await ask(tags, { headers: bearer("anonymous") })).status).toBe(401);
    expect((await ask(tags, { headers: bearer(client.token) })).status).toBe(200);
  });

  it("a preflight of CORS is answered", async () => {
    const headers = { origin: "https://example.com", "access-control-request-method": "POST" };
    const response = await ask("/v1/predictions", { method: "OPTIONS", headers });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("a monitor asks for the health", async () => {
    expect(await (await ask("/health")).json()).toEqual({ status: "ok" });
  });
});

describe("in a closed deployment", () => {
  /** Addresses that an open deployment answers to everybody. */
  const READS = ["/v1/models", "/v1/openapi.json", "/docs", "/docs/calling", "/docs/search?q=a"];

  async function avatarOf(person: DashboardUser): Promise<string> {
    await newAvatar(person);
    const { avatar_url } = await person.client.ok<{ avatar_url: string }>("GET", "/v1/user");
    return new URL(avatar_url).pathname;
  }

  it("a token and a session read what is public elsewhere, and only their caches keep it", async () => {
    const person = await newDashboardUser();
    const avatar = await avatarOf(person);
    for (const headers of [bearer(person.client.token), cookiesOf(person.visitor)]) {
      for (const path of [...READS, avatar]) {
        const response = await ask(path, { headers });
        await response.body?.cancel();
        expect([path, response.status]).toEqual([path, 200]);
        expect(response.headers.get("cache-control")).toMatch(/^(?:private, max-age=|no-store)/);
        const tag = response.headers.get("etag");
        if (tag === null) continue;
        const known = { "if-none-match": tag };
        expect((await ask(path, { headers: { ...headers, ...known } })).status).toBe(304);
        expect((await ask(path, { headers: known })).status).toBe(401);
      }
    }
    const page = await ask("/models", { headers: { ...cookiesOf(person.visitor), ...PAGE } });
    expect(page.status).toBe(200);
  });

  it("a session that ended, and one of a suspended account, read nothing", async () => {
    const person = await newDashboardUser();
    const headers = cookiesOf(person.visitor);
    await env.DB.prepare("UPDATE users SET suspended_at = 1 WHERE id = ?")
      .bind(person.user_id)
      .run();
    expect((await ask("/docs/calling", { headers })).status).toBe(303);
    await env.DB.prepare("UPDATE users SET suspended_at = NULL WHERE id = ?")
      .bind(person.user_id)
      .run();
    expect((await ask("/docs/calling", { headers })).status).toBe(200);
    await person.visitor.send("/sign-out");
    expect((await ask("/docs/calling", { headers })).status).toBe(303);
  });

  it("a session is no token of the API", async () => {
    const { visitor } = await newDashboardUser();
    expect((await ask("/v1/predictions", { headers: cookiesOf(visitor) })).status).toBe(401);
  });

  it("tokens of runners and of the operator work", async () => {
    const runner = bearer(await newRunnerToken("cpu"));
    expect((await ask("/v1/runner/hardware/cpu", { headers: runner })).status).toBe(200);
    const operator = bearer(env.OPERATOR_TOKEN);
    expect((await ask("/v1/operator/queues", { headers: operator })).status).toBe(200);
  });

  it("pages to log in, sign up and set up open, without a menu of what is closed", async () => {
    for (const path of ["/sign-in", "/sign-up", "/set-up"]) {
      const response = await ask(path, { headers: PAGE });
      expect([path, response.status]).toEqual([path, 200]);
      const html = await response.text();
      expect(html).not.toContain('href="/models"');
      expect(html).not.toContain('href="/docs"');
    }
    const asked = await ask("/auth/passkey/generate-authenticate-options", { headers: PAGE });
    expect(asked.status).toBe(200);
  });

  it("an invitation opens", async () => {
    const { invitation } = await newJoining();
    const response = await ask(`/join/${invitation}`, { headers: PAGE });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining("Log in to join"),
    ]);
  });

  it("a shared link shows its prediction and its files", async () => {
    const person = await newDashboardUser();
    const { prediction_id: id = "" } = await newEndedRun(person);
    await env.FILES.put(`${id}/out.png`, "a picture");
    await person.visitor.look(`/predictions/${id}`);
    const { html } = await person.visitor.send(`/predictions/${id}/share`, { days: "1" });
    const [path = ""] = /\/shared\/auss_\w+/.exec(html) ?? [];
    expect((await ask(path, { headers: PAGE })).status).toBe(200);
    const file = await ask(`${path}/files/run/out.png`);
    expect([file.status, await file.text()]).toEqual([200, "a picture"]);
  });

  /** The URL with another signature. */
  const other = (url: string) =>
    url.replace(/(?<=signature=)./, (one) => (one === "a" ? "b" : "a"));

  it("signed URLs of files, of parts of uploads and of streams work, others do not", async () => {
    const { client, waiting } = await newCustomer();
    const url = fileUrl(await uploaded(client, bytesOf(2)));
    expect((await ask(url)).status).toBe(200);
    expect((await ask(url.replace(/signature=.*/, ""))).status).toBe(401);
    expect((await ask(other(url))).status).toBe(403);
    const [part = ""] = (await beginUpload(client, 2)).urls;
    const put = { method: "PUT", body: bytesOf(2), headers: { "content-length": "2" } };
    expect((await ask(part, put)).status).toBe(200);
    expect((await ask(other(part), put)).status).toBe(403);
    const id = await waiting();
    const { urls } = await client.ok<{ urls: { stream: string } }>(
      "GET",
      `/replicate/v1/predictions/${id}`,
    );
    const stream = await ask(urls.stream);
    await stream.body?.cancel();
    expect(stream.status).toBe(200);
    expect((await ask(urls.stream.replace(/\?.*/, ""))).status).toBe(401);
  });
});
