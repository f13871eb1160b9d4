/** Sign-in, sign-up and sign-out of the dashboard, without client code. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { VERIFIER } from "../../../src/protocol/user.ts";
import { getServices } from "../../../src/services/services.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "../support/visitor.ts";
import { operator, unique } from "../support/world.ts";

const newcomer = () => {
  const username = unique("ann");
  return { username, name: "Ann", email: `${username}@example.com`, password: PASSWORD };
};

describe("sign-up", () => {
  it("a sign-up makes a user and signs them in, with a cookie that scripts cannot read", async () => {
    const visitor = new Visitor();
    const form = newcomer();
    const { headers, location } = await visitor.send("/sign-up", form);
    expect(location).toBe("/");
    const [cookie] = headers.getSetCookie().filter((one) => one.includes("session_token"));
    expect(cookie).toMatch(/^__Host-auspex\.session_token=/);
    for (const attribute of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]) {
      expect(cookie).toContain(attribute);
    }
    expect((await visitor.look("/")).html).toContain(form.username);
    const user = await new Client(undefined).fetch(`/v1/users/${form.username}`);
    expect(user.status).toBe(200);
  });

  it.each([
    ["an invalid username", { username: "Ann Smith" }, "username"],
    ["the username of npm run verify", { username: VERIFIER }, "username"],
    ["an invalid address", { email: "ann" }, "email"],
    ["a short password", { password: "short" }, "password"],
  ])("an error of %s is shown at its field, and the rest is kept", async (_, wrong, field) => {
    const form = newcomer();
    const { status, html } = await new Visitor().send("/sign-up", { ...form, ...wrong });
    expect(status).toBe(422);
    expect(html).toMatch(new RegExp(`id="${field}-error"`));
    expect(html).toMatch(new RegExp(`<input id="${field}"[^>]*aria-invalid="true"`));
    expect(html).toContain('value="Ann"');
    expect(html).not.toContain(PASSWORD);
  });

  it("a sign-up shows that a username, or an address, is taken", async () => {
    const { username, email } = await signedUp();
    const sameName = await new Visitor().send("/sign-up", { ...newcomer(), username });
    expect(sameName.html).toContain(`&#39;${username}&#39; is taken`);
    const sameAddress = await new Visitor().send("/sign-up", {
      ...newcomer(),
      email: email.toUpperCase(),
    });
    expect(sameAddress.html).toContain(
      "An account with this email address exists. Sign in instead",
    );
  });

  it("a sign-up whose username was taken leaves nothing", async () => {
    const { username } = await signedUp();
    const form = newcomer();
    await new Visitor().send("/sign-up", { ...form, username });
    const again = await new Visitor().send("/sign-up", form);
    expect(again.status).toBe(303);
  });
});

describe("sign-in", () => {
  it("a sign-in goes on to the requested page", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const asked = await visitor.look("/account/security?x=1");
    expect(asked.location).toBe("/sign-in?next=%2Faccount%2Fsecurity%3Fx%3D1");
    const { html } = await visitor.look(asked.location ?? "");
    expect(html).toContain('name="next" value="/account/security?x=1"');
    const fields = { email, password: PASSWORD, next: "/account/security?x=1" };
    expect((await visitor.send("/sign-in", fields)).location).toBe("/account/security?x=1");
    expect((await visitor.look("/account/security")).status).toBe(200);
  });

  it.each([
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test",
    "javascript:alert(1)",
    "/\t/evil",
    "/\0",
    "/é",
  ])("a sign-in never goes on to another site: %s", async (next) => {
    const { email } = await signedUp();
    const fields = { email, password: PASSWORD, next };
    expect((await new Visitor().send("/sign-in", fields)).location).toBe("/");
  });

  it("a sign-in has the same answer for a wrong password and an unknown user", async () => {
    const { email } = await signedUp();
    const wrong = await new Visitor().send("/sign-in", { email, password: "not the password" });
    expect(wrong.status).toBe(403);
    expect(wrong.html).toContain("Wrong email or password.");
    const nobody = `${unique("nobody")}@example.com`;
    const absent = await new Visitor().send("/sign-in", { email: nobody, password: PASSWORD });
    expect(absent.html.replaceAll(nobody, "")).toBe(wrong.html.replaceAll(email, ""));
  });

  it("a sign-out removes the cookie, which is then worth nothing", async () => {
    const { visitor } = await signedUp();
    const kept = new Map(visitor.cookies);
    await visitor.send("/sign-out");
    expect((await visitor.look("/account/security")).location).toMatch(/^\/sign-in/);
    const thief = new Visitor();
    for (const [name, value] of kept) thief.cookies.set(name, value);
    expect((await thief.look("/account/security")).location).toMatch(/^\/sign-in/);
  });

  it.each(["/sign-in", "/sign-up", "/set-up"])(
    "a body that is no form is refused at %s",
    async (path) => {
      const json = await new Visitor().request(path, {
        method: "POST",
        headers: { accept: "text/html", origin: ORIGIN, "content-type": "application/json" },
        body: "{}",
      });
      expect(json.status).toBe(415);
      const broken = await new Visitor().request(path, {
        method: "POST",
        headers: { accept: "text/html", origin: ORIGIN, "content-type": "multipart/form-data" },
        body: "x",
      });
      expect(broken.status).toBe(400);
    },
  );

  it("better-auth's own routes cannot bypass the dashboard's", async () => {
    const visitor = new Visitor();
    for (const path of ["/auth/sign-up/email", "/auth/sign-in/email", "/auth/update-user"]) {
      const answer = await visitor.call("POST", path, newcomer());
      expect(answer.status, path).toBe(404);
      await answer.body?.cancel();
    }
    const session = await visitor.call("GET", "/auth/get-session");
    expect(session.status).toBe(404);
  });
});

describe("attempts to sign in", () => {
  const services = getServices(env);

  beforeEach(() => {
    services.settings.rateLimits = true;
  });
  afterEach(() => {
    services.settings.rateLimits = false;
  });

  // The binding counts in windows of the wall clock, so at most twice its limit gets through.
  async function untilRefused(limit: number, attempt: (n: number) => ReturnType<Visitor["send"]>) {
    for (let n = 0; n <= 2 * limit; n++) {
      const { status, html } = await attempt(n);
      if (status !== 429) continue;
      expect(n).toBeGreaterThanOrEqual(limit);
      expect(html).toContain("Too many sign-in attempts. Wait 60 seconds");
      return;
    }
    throw new Error(`${2 * limit + 1} attempts were let through`);
  }

  const from = (address: string) => ({ "cf-connecting-ip": address });

  it("attempts at one account are limited, from wherever they come", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const guess = { email, password: "not the password" };
    await untilRefused(8, (n) => visitor.send("/sign-in", guess, from(`198.51.100.${n}`)));
  });

  it("attempts from one address are limited, whatever they try, and keep nobody else out", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const place = from("198.51.100.200");
    await untilRefused(4, (n) =>
      n % 2 === 0
        ? visitor.send("/sign-in", { email, password: "guess" }, place)
        : visitor.send("/set-up", { operator_token: "a guess" }, place),
    );
    const fields = { email, password: PASSWORD };
    const owner = await new Visitor().send("/sign-in", fields, from("198.51.100.201"));
    expect(owner.status).toBe(303);
  });
});

describe("operators", () => {
  it("operators are the users who have proved to hold OPERATOR_TOKEN", async () => {
    const { visitor } = await signedUp();
    expect((await visitor.look("/users")).status).toBe(404);
    const wrong = await visitor.send("/set-up", { operator_token: "x".repeat(30) });
    expect(wrong.html).toContain("The operator token is wrong");
    expect((await visitor.look("/users")).status).toBe(404);
    const person = await signedUpOperator(env.OPERATOR_TOKEN);
    expect((await person.visitor.look("/users")).status).toBe(200);
  });

  it("operators make their account while they set up", async () => {
    const visitor = new Visitor();
    const form = { ...newcomer(), operator_token: env.OPERATOR_TOKEN };
    expect((await visitor.send("/set-up", form)).location).toBe("/set-up");
    expect((await visitor.look("/set-up")).html).toContain("is an operator");
  });

  it("an operator may take over a user that was made over the API, when nobody signs in as it", async () => {
    const username = unique("made");
    await operator.post("/v1/operator/users", { username });
    const visitor = new Visitor();
    const form = { ...newcomer(), username, operator_token: env.OPERATOR_TOKEN };
    expect((await visitor.send("/set-up", form)).status).toBe(303);
    expect((await visitor.look("/set-up")).html).toContain(`${username} is an operator`);
    const another = await new Visitor().send("/set-up", { ...form, email: "other@example.com" });
    expect(another.html).toContain("is taken");
  });
});
