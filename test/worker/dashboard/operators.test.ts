/** Operators: appointed, listed and demoted, and set up with OPERATOR_TOKEN. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { Landing } from "../../../src/dashboard/home/landing.tsx";
import { getServices } from "../../../src/services/services.ts";
import { isSetUp } from "../../../src/services/sign-in/operators.ts";
import { run } from "../support/accounts.ts";
import { ORIGIN } from "../support/client.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { signedUp, Visitor } from "../support/visitor.ts";

const services = getServices(env);
const { settings } = services;

afterEach(() => {
  settings.operatorToken = env.OPERATOR_TOKEN;
});

const isOperator = async (visitor: Visitor) => (await visitor.look("/users")).status === 200;

it("visitors are offered the set-up until an operator exists", async () => {
  // Files of tests share isolates, which remember for their services that there was an operator.
  const others = { ...services };
  await run("UPDATE users SET operator_since = NULL");
  expect(await isSetUp(others)).toBe(false);
  const { visitor } = await signedUp();
  await visitor.send("/set-up", { operator_token: env.OPERATOR_TOKEN });
  expect(await isSetUp(others)).toBe(true);
  const isOffered = (html: unknown) => String(html).includes('href="/set-up"');
  expect(isOffered(Landing({ isSetUp: false, origin: ORIGIN }))).toBe(true);
  expect(isOffered((await new Visitor().look("/")).html)).toBe(false);
});

it("operators are listed without other users", async () => {
  const [one, two] = [await newOperator(), await newOperator()];
  const other = await signedUp();
  const { html } = await one.visitor.look("/users?show=operators");
  const [, list = ""] = /aria-label="Users">(.*?)<\/table>/s.exec(html) ?? [];
  for (const { username } of [one, two]) expect(list).toContain(username);
  expect(list).not.toContain(other.username);
});

it("an operator makes another user an operator, and demotes them", async () => {
  const [one, two] = [await newOperator(), await signedUp()];
  expect(await isOperator(two.visitor)).toBe(false);
  const page = `/users/${two.username}`;
  expect((await one.visitor.look(page)).html).toContain(`action="${page}/appoint"`);
  expect((await one.visitor.send(`${page}/appoint`)).location).toBe(page);
  expect(await isOperator(two.visitor)).toBe(true);
  expect((await one.visitor.look(page)).html).not.toContain(`action="${page}/appoint"`);
  expect((await one.visitor.send(`${page}/demote`)).location).toBe(page);
  expect(await isOperator(two.visitor)).toBe(false);
  expect((await two.visitor.look("/fleet")).status).toBe(404);
  expect((await one.visitor.send(`${page}/demote`)).status).toBe(409);
});

it("a demoted operator who enters OPERATOR_TOKEN is an operator again", async () => {
  const [one, two] = [await newOperator(), await newOperator()];
  await one.visitor.send(`/users/${two.username}/demote`);
  await two.visitor.send("/set-up", { operator_token: env.OPERATOR_TOKEN });
  expect(await isOperator(two.visitor)).toBe(true);
});

it("operators who demote themselves are led to a page that they may see", async () => {
  await newOperator();
  const { visitor, username } = await newOperator();
  const { location = "" } = await visitor.send(`/users/${username}/demote`);
  const { status, html } = await visitor.look(location);
  expect(status).toBe(200);
  expect(html).toContain("You are no longer an operator.");
});

it("operators stay operators with another OPERATOR_TOKEN and with none", async () => {
  const { visitor } = await newOperator();
  settings.operatorToken = "another-operator-token";
  expect(await isOperator(visitor)).toBe(true);
  const old = await (await signedUp()).visitor.send("/set-up", {
    operator_token: env.OPERATOR_TOKEN,
  });
  expect(old.html).toContain("The operator token is wrong");
  settings.operatorToken = undefined;
  expect(await isOperator(visitor)).toBe(true);
});

describe("links of a former operator", () => {
  const linkOf = async ({ visitor }: { visitor: Visitor }, username: string) => {
    const { html } = await visitor.send(`/users/${username}/recovery`);
    return /#invitation=(ausi_\w+)/.exec(html)?.[1] ?? expect.fail(html);
  };
  const taken = async (invitation: string) =>
    (await new Visitor().send("/sign-up", { invitation, password: "another long password" }))
      .status;

  it("a link opens nothing after a demotion, and is no longer listed", async () => {
    const [one, two] = [await newOperator(), await newOperator()];
    const link = await linkOf(two, one.username);
    expect((await one.visitor.look("/users")).html).toContain(
      `<td data-label="By">${two.username}</td>`,
    );
    await one.visitor.send(`/users/${two.username}/demote`);
    expect(await taken(link)).not.toBe(303);
    expect((await one.visitor.look("/users")).html).not.toContain(
      `<td data-label="By">${two.username}</td>`,
    );
  });

  it("a link stays open with another OPERATOR_TOKEN", async () => {
    const { visitor } = await newOperator();
    const { username } = await signedUp();
    const link = await linkOf({ visitor }, username);
    settings.operatorToken = "another-operator-token";
    expect(await taken(link)).toBe(303);
  });

  it("a link opens nothing after a suspension", async () => {
    const [one, two] = [await newOperator(), await newOperator()];
    const link = await linkOf(two, one.username);
    await one.visitor.send(`/users/${two.username}/suspend`);
    expect(await taken(link)).not.toBe(303);
  });
});

describe("the scope operator", () => {
  const form = { name: "fleet", scopes: "operator", expires: "30", models_for: "all" };

  it("the form for a token offers the scope to operators only", async () => {
    const { visitor } = await newOperator();
    expect((await visitor.look("/tokens")).html).toContain('value="operator"');
    expect((await visitor.send("/tokens", form)).html).toContain("Your new token: fleet");
    const other = await signedUp();
    expect((await other.visitor.look("/tokens")).html).not.toContain('value="operator"');
    const { status, html } = await other.visitor.send("/tokens", form);
    expect(status).toBe(422);
    expect(html).toContain("Only an operator&#39;s own tokens can have the scope operator");
  });
});
