/** Login with GitHub, whose documented answers are simulated. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const { settings } = getServices(env);
/** The tests have an origin of their own, because the configuration of an origin is cached. */
const ORIGIN = "https://github.auspex.test";

interface Person {
  id: number;
  login: string;
  name: string;
  email: string;
}

let count = Date.now();
const person = (email = `${unique("cat")}@example.com`): Person => ({
  id: ++count,
  login: "cat",
  name: "Cat",
  email,
});

function github(somebody: Person): void {
  const json = (body: unknown) => Response.json(body);
  const original = globalThis.fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const { href, pathname, hostname } = new URL(input instanceof Request ? input.url : input);
    if (hostname === "github.com" && pathname === "/login/oauth/access_token")
      return json({ access_token: "gho_secret", token_type: "bearer", scope: "user:email" });
    if (href === "https://api.github.com/user") return json(somebody);
    if (href === "https://api.github.com/user/emails")
      return json([
        { email: somebody.email, primary: true, verified: true, visibility: "private" },
      ]);
    return original(input, init);
  });
}

/** Logs in at GitHub and comes back. @returns the address of the page after that */
async function enter(visitor: Visitor, next = "/"): Promise<string | undefined> {
  const { location = "" } = await visitor.send("/sign-in/github", { next });
  const there = new URL(location);
  expect(there.origin).toBe("https://github.com");
  expect(there.searchParams.get("redirect_uri")).toBe(`${ORIGIN}/auth/callback/github`);
  const state = there.searchParams.get("state");
  const back = await visitor.look(`/auth/callback/github?code=abc&state=${state}`);
  return back.location?.replace(ORIGIN, "");
}

beforeEach(() => {
  settings.github = { clientId: "id", clientSecret: "secret" };
});
afterEach(() => {
  settings.github = undefined;
  settings.signUp = "open";
  vi.restoreAllMocks();
});

describe("sign-in with GitHub", () => {
  it("a new user chooses a username, and is known the next time", async () => {
    const cat = person();
    github(cat);
    const visitor = new Visitor(ORIGIN);
    expect(await enter(visitor)).toBe("/welcome");
    // The account has no access before it has a username.
    expect((await visitor.look("/account/security")).location).toBe("/welcome");
    const { html } = await visitor.look("/welcome");
    expect(html).toContain('value="Cat"');
    const username = unique("cat");
    expect((await visitor.send("/welcome", { username, name: "Cat" })).location).toBe("/");
    expect((await visitor.look("/")).html).toContain(username);
    const again = new Visitor(ORIGIN);
    expect(await enter(again, "/account/security")).toBe("/account/security");
    expect((await again.look("/")).html).toContain(username);
  });

  it("a login without an invitation makes no account where one is needed", async () => {
    settings.signUp = "invitation";
    github(person());
    const visitor = new Visitor(ORIGIN);
    expect(await enter(visitor)).toMatch(/^\/sign-in\?error=/);
    expect((await visitor.look("/account/security")).location).toMatch(/^\/sign-in/);
  });

  it("a login with the e-mail address of an account does not open that account", async () => {
    const { email } = await signedUp();
    github(person(email));
    const visitor = new Visitor(ORIGIN);
    expect(await enter(visitor)).toMatch(/^\/sign-in\?error=/);
    expect((await visitor.look("/account/security")).location).toMatch(/^\/sign-in/);
    const owner = new Visitor();
    expect((await owner.send("/sign-in", { email, password: PASSWORD })).status).toBe(303);
  });

  it("a login takes no answer to a question that this browser did not ask", async () => {
    github(person());
    const visitor = new Visitor(ORIGIN);
    const { location = "" } = await visitor.send("/sign-in/github", { next: "/" });
    const state = new URL(location).searchParams.get("state");
    const another = new Visitor(ORIGIN);
    for (const query of [`code=abc&state=${state}`, "code=abc&state=unknown", "code=abc", ""]) {
      const back = await another.look(`/auth/callback/github?${query}`);
      expect(back.headers.getSetCookie().join()).not.toContain("session_token");
      expect(back.location?.replace(ORIGIN, "")).toMatch(/^\/sign-in\?error=\w/);
    }
    expect((await another.look("/sign-in?error=state_mismatch")).html).toContain('role="alert"');
  });

  it("a login is not offered where GitHub is not configured", async () => {
    settings.github = undefined;
    const visitor = new Visitor();
    expect((await visitor.look("/sign-in")).html).not.toContain("GitHub");
    expect((await visitor.send("/sign-in/github")).status).toBe(404);
  });
});
