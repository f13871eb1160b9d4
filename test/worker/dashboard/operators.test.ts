/** Operators: listed, demoted, and demoted by another OPERATOR_TOKEN. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { run } from "../support/accounts.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { signedUp, Visitor } from "../support/visitor.ts";

const { settings } = getServices(env);

afterEach(() => {
  settings.operatorToken = env.OPERATOR_TOKEN;
});

const isOperator = async (visitor: Visitor) => (await visitor.look("/users")).status === 200;

it("visitors are offered the set-up until an operator exists", async () => {
  const isOffered = async () => (await new Visitor().look("/")).html.includes('href="/set-up"');
  settings.operatorToken = "a-token-of-nobody";
  expect(await isOffered()).toBe(true);
  const { visitor } = await signedUp();
  await visitor.send("/set-up", { operator_token: settings.operatorToken });
  expect(await isOffered()).toBe(false);
  settings.operatorToken = "another-token-of-nobody";
  expect(await isOffered()).toBe(true);
  settings.operatorToken = undefined;
  expect(await isOffered()).toBe(true);
});

it("operators are listed without other users", async () => {
  const [one, two] = [await newOperator(), await newOperator()];
  const other = await signedUp();
  const { html } = await one.visitor.look("/users?show=operators");
  const [, list = ""] = /aria-label="Users">(.*?)<\/table>/s.exec(html) ?? [];
  for (const { username } of [one, two]) expect(list).toContain(username);
  expect(list).not.toContain(other.username);
});

it("an operator can be demoted, and prove the token again", async () => {
  const [one, two] = [await newOperator(), await newOperator()];
  expect(await isOperator(two.visitor)).toBe(true);
  const demote = `/users/${two.username}/demote`;
  expect((await one.visitor.send(demote)).location).toBe(`/users/${two.username}`);
  expect(await isOperator(two.visitor)).toBe(false);
  expect((await two.visitor.look("/fleet")).status).toBe(404);
  expect((await one.visitor.send(demote)).status).toBe(409);
  await two.visitor.send("/set-up", { operator_token: env.OPERATOR_TOKEN });
  expect(await isOperator(two.visitor)).toBe(true);
});

it("operators who demote themselves are led to a page that they may see", async () => {
  const { visitor, username } = await newOperator();
  const { location = "" } = await visitor.send(`/users/${username}/demote`);
  const { status, html } = await visitor.look(location);
  expect(status).toBe(200);
  expect(html).toContain("You are no longer an operator.");
});

it("operators of an earlier OPERATOR_TOKEN are none until they prove the new one", async () => {
  const { visitor, username } = await newOperator();
  settings.operatorToken = "another-operator-token";
  expect(await isOperator(visitor)).toBe(false);
  expect((await visitor.look("/set-up")).html).toContain("will become an operator");
  const old = await visitor.send("/set-up", { operator_token: env.OPERATOR_TOKEN });
  expect(old.html).toContain("The operator token is wrong");
  await visitor.send("/set-up", { operator_token: settings.operatorToken });
  expect((await visitor.look("/users")).html).toContain(username);
  settings.operatorToken = undefined;
  expect(await isOperator(visitor)).toBe(false);
});

it("an operator's proof is stored as a hash, not as the token", async () => {
  const { user_id } = await newOperator();
  const [row] = await run("SELECT operator_proof FROM users WHERE id = ?", user_id);
  expect(row?.operator_proof).toMatch(/^[0-9a-f]{64}$/);
  const rows = JSON.stringify(await run("SELECT * FROM users"));
  expect(rows).not.toContain(env.OPERATOR_TOKEN);
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

  it("a link opens nothing under another OPERATOR_TOKEN, until its operator proves that", async () => {
    const { visitor } = await newOperator();
    const { username } = await signedUp();
    const link = await linkOf({ visitor }, username);
    settings.operatorToken = "another-operator-token";
    expect(await taken(link)).not.toBe(303);
    await visitor.send("/set-up", { operator_token: settings.operatorToken });
    expect(await taken(link)).toBe(303);
  });

  it("a link opens nothing after a suspension", async () => {
    const [one, two] = [await newOperator(), await newOperator()];
    const link = await linkOf(two, one.username);
    await one.visitor.send(`/users/${two.username}/suspend`);
    expect(await taken(link)).not.toBe(303);
  });
});
