/** Suspended accounts: their access ends within 10 s, and can be restored. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import { sweepSuspended } from "../../../src/services/accounts/suspension.ts";
import { getServices } from "../../../src/services/services.ts";
import { Client } from "../support/client.ts";
import { newDashboardUser, newOperator, signInAgain } from "../support/dashboard-users.ts";
import { EventReader } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";
import { newWorld, operator, unique, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

const address = ({ username }: { username: string }) => `/v1/operator/users/${username}/suspension`;
const suspend = (somebody: { username: string }) => operator.ok("PUT", address(somebody));
const restore = (somebody: { username: string }) => operator.ok("DELETE", address(somebody));

const whoAmI = (client: Client) => client.json<{ detail?: string }>("GET", "/v1/user");

/** Suspends an account as another isolate does, while this one has its token cached. */
const asElsewhere = ({ user_id }: World) =>
  env.DB.prepare("UPDATE users SET suspended_at = ? WHERE id = ?").bind(Date.now(), user_id).run();

describe("a suspended account", () => {
  test("a suspended account's tokens are refused within 10 s, until it is restored", async () => {
    const [here, elsewhere] = [await newWorld(), await newWorld()];
    await Promise.all([here, elsewhere].map(({ client }) => whoAmI(client)));
    await suspend(here);
    await asElsewhere(elsewhere);
    advance(10.001);
    for (const { client } of [here, elsewhere]) {
      const { status, body } = await whoAmI(client);
      expect([status, body.detail]).toEqual([
        401,
        expect.stringMatching(/^This account is suspended/),
      ]);
    }
    await Promise.all([here, elsewhere].map(restore));
    for (const { client } of [here, elsewhere]) expect((await whoAmI(client)).status).toBe(200);
  });

  test("a suspended account's streams end with a problem", async () => {
    const check = holdTimers(CHECK_MS);
    const other = await newWorld({ visibility: "public" });
    const { client, username } = await newWorld();
    const { id } = (await client.create({ model: other.model, input: {} })).body;
    const { channel } = await (await other.runner()).work();
    const events = new EventReader((await client.stream(id)).body);
    await channel.report([{ event: "output", data: "one" }]);
    await suspend({ username });
    advance(9);
    check();
    const said = await events.rest();
    expect(said.at(-1)).toMatchObject({
      event: "problem",
      data: { status: 401, detail: expect.stringMatching(/suspended/) },
    });
    expect(said.map(({ event }) => event)).not.toContain("done");
  });

  test("a suspended account's predictions are canceled, and those of others on its models are not", async () => {
    const world = await newWorld({ visibility: "public" });
    const running = await world.begun();
    const waiting = await world.waiting();
    const stranger = await world.stranger();
    const theirs = (await stranger.create({ model: world.model, input: {} })).body.id;
    await suspend(world);
    expect(await running.channel.next()).toEqual({
      type: "cancel",
      reason: "its account is suspended",
    });
    await running.channel.report([], { status: "canceled", output: "none" });
    await restore(world);
    expect(await world.client.status(waiting)).toBe("canceled");
    expect(await world.client.status(running.id)).toBe("canceled");
    expect(await stranger.status(theirs)).toBe("pending");
  });

  test("the sweep cancels predictions that began while the token was still cached", async () => {
    const world = await newWorld();
    await whoAmI(world.client);
    await asElsewhere(world);
    const late = await world.waiting();
    await sweepSuspended(getServices(env), Date.now() + 60_000);
    await restore(world);
    expect(await world.client.status(late)).toBe("canceled");
  });

  test("a suspended account's sessions end, and a login shows that it is suspended", async () => {
    const person = await newDashboardUser();
    await suspend(person);
    expect((await person.visitor.look("/tokens")).location).toMatch(/^\/sign-in/);
    const visitor = new Visitor();
    await visitor.send("/sign-in", { email: person.email, password: PASSWORD });
    const told = await visitor.look("/tokens");
    expect([told.status, told.html]).toEqual([
      403,
      expect.stringContaining("This account is suspended"),
    ]);
    expect((await visitor.look("/tokens")).location).toMatch(/^\/sign-in/);
    await restore(person);
    const back = await signInAgain(person);
    expect((await back.look("/tokens")).status).toBe(200);
  });

  test("a suspended account's models stay, and their pages say that the account is suspended", async () => {
    const world = await newWorld({ visibility: "public" });
    const page = async () => (await new Visitor().look(`/models/${world.model}`)).html;
    expect(await page()).not.toContain("is suspended");
    await suspend(world);
    expect((await new Client(undefined).json("GET", `/v1/models/${world.model}`)).status).toBe(200);
    expect(await page()).toContain("account is suspended");
  });

  test("a suspended account's models become private with models=hide", async () => {
    const world = await newWorld({ visibility: "public" });
    const stranger = await world.stranger();
    const run = { model: world.model, input: {} };
    expect((await stranger.create(run)).status).toBe(202);
    await operator.ok("PUT", `${address(world)}?models=hide`);
    expect((await stranger.refused("/v1/predictions", run)).status).toBe(404);
    expect((await stranger.json("GET", `/v1/models/${world.model}`)).status).toBe(404);
    await restore(world);
    const { visibility } = await world.client.ok<{ visibility: string }>(
      "GET",
      `/v1/models/${world.model}`,
    );
    expect(visibility).toBe("private");
  });

  test("a suspended operator is no operator after the account is restored", async () => {
    const person = await newOperator();
    await suspend(person);
    await restore(person);
    const back = await signInAgain(person);
    expect((await back.look("/users")).status).toBe(404);
  });
});

test("operators can suspend users on their pages, but not themselves", async () => {
  const { visitor, username } = await newOperator();
  const person = await newDashboardUser();
  const at = (name: string) => visitor.send(`/users/${name}/suspend`, { models: "hide" });
  expect((await at(person.username)).location).toBe(`/users/${person.username}`);
  await eventually(async () => expect((await whoAmI(person.client)).status).toBe(401));
  const list = (await visitor.look("/users?show=suspended")).html;
  expect(list).toContain(`href="/users/${person.username}"`);
  const page = (await visitor.look(`/users/${person.username}`)).html;
  expect(page).toContain(`action="/users/${person.username}/restore"`);
  const oneself = await at(username);
  expect([oneself.status, oneself.html]).toEqual([
    409,
    expect.stringContaining("You cannot suspend your own account."),
  ]);
  expect((await at(unique("nobody"))).status).toBe(404);
  await visitor.send(`/users/${person.username}/restore`);
  expect((await whoAmI(person.client)).status).toBe(200);
});
