/** Stream tokens, which read the events of one prediction. */
import { afterEach, expect, test } from "vitest";
import { CHECK_MS } from "../../../src/domain/accounts/access.ts";
import type { StreamToken } from "../../../src/protocol/client-token.ts";
import { run } from "../support/accounts.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { EventReader } from "../support/events.ts";
import { holdTimers } from "../support/hold-timers.ts";
import { newOrganization, setRole } from "../support/organizations.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { newClient, newUser, newWorld } from "../support/world.ts";

afterEach(startClock);

const issue = (by: Client, id: string, body: object = {}) =>
  by.ok<StreamToken>("POST", `/v1/predictions/${id}/stream_tokens`, body);

const anybody = new Client(undefined);

async function opened(response: Response): Promise<EventReader> {
  expect(response.status).toBe(200);
  return new EventReader(response.body);
}

async function statusOf(client: Client, path: string): Promise<number> {
  const { status, body } = await client.fetch(path);
  await body?.cancel();
  return status;
}

test("a stream token reads the events, in the URL and as a bearer", async () => {
  const world = await newWorld();
  const { id, channel } = await world.begun();
  const { token, url } = await issue(world.client, id);
  expect(url).toBe(`${ORIGIN}/v1/predictions/${id}/stream?token=${token}`);
  for (const response of [await anybody.fetch(url), await new Client(token).stream(id)]) {
    const events = await opened(response);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(await events.next()).toMatchObject({ event: "status" });
    await events.leave();
  }
  channel.socket.close();
});

test("the events that a stream token reads do not name the member who created the prediction", async () => {
  const { model, join } = await newOrganization();
  const { client, username } = await join("developer");
  const { id } = (await client.create({ model, input: {} })).body;
  expect((await client.get(id)).created_by).toBe(username);
  const { url } = await issue(client, id);
  await client.cancel(id);
  const text = await (await anybody.fetch(url)).text();
  expect(text).toContain("event: done");
  expect(text).not.toContain(username);
});

test("a stream token reads nothing else", async () => {
  const world = await newWorld();
  const [id, other] = [await world.waiting(), await world.waiting()];
  const { token } = await issue(world.client, id);
  const holder = new Client(token);
  for (const path of [
    `/v1/predictions/${id}`,
    `/v1/predictions/${id}/explain`,
    "/v1/predictions",
    "/v1/user",
    "/openai/v1/models",
    `/replicate/v1/predictions/${id}`,
  ]) {
    expect([path, await statusOf(holder, path)]).toEqual([path, 401]);
    const inUrl = await statusOf(anybody, `${path}?token=${token}`);
    expect([path, [401, 404, 422].includes(inUrl)]).toEqual([path, true]);
  }
  const { body } = await holder.json("GET", `/v1/predictions/${id}`);
  expect(body).toMatchObject({ detail: expect.stringMatching("Use an access token") });
  expect(await statusOf(holder, `/v1/predictions/${other}/stream`)).toBe(403);
  expect((await holder.post(`/v1/predictions/${id}/cancel`, {})).status).toBe(401);
  expect((await holder.post(`/v1/predictions/${id}/stream_tokens`, {})).status).toBe(401);
});

test("a stream token is for a prediction that its maker may read", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const path = `/v1/predictions/${id}/stream_tokens`;
  expect((await (await newUser()).client.post(path, {})).status).toBe(404);
  expect((await anybody.post(path, {})).status).toBe(401);
  const writer = await newClient(world.username, { scopes: ["write"] });
  expect((await writer.post(path, {})).status).toBe(403);
  expect((await world.client.post(path, { expires_in: 3_601 })).status).toBe(422);
});

test("a made-up stream token, or one for another purpose, is refused", async () => {
  const world = await newWorld();
  const id = await world.waiting();
  const { token } = await issue(world.client, id);
  for (const wrong of [
    `${token.slice(0, -4)}AAAA`,
    token.replace("ause_", "ausc_"),
    "x",
    "",
    world.client.token,
  ])
    expect(await statusOf(anybody, `/v1/predictions/${id}/stream?token=${wrong}`)).toBe(401);
});

test("a stream ends when its token expires, and cannot be opened again", async () => {
  stopClock();
  const check = holdTimers(CHECK_MS);
  const world = await newWorld();
  const id = await world.waiting();
  const { url } = await issue(world.client, id, { expires_in: 5 });
  const events = await opened(await anybody.fetch(url));
  const going = await opened(await world.client.stream(id));
  advance(5);
  check();
  let last = await events.next();
  for (let next = last; next; next = await events.next()) last = next;
  expect(last).toMatchObject({ event: "problem", data: { status: 401 } });
  expect(await statusOf(anybody, url)).toBe(401);
  await going.leave();
});

test("a stream token ends within 10 s of the token that issued it", async () => {
  stopClock();
  const world = await newWorld();
  const server = await newClient(world.username, { name: "server" });
  const { url } = await issue(server, await world.waiting());
  expect(await statusOf(anybody, url)).toBe(200);
  await run("DELETE FROM tokens WHERE name = 'server' AND user_id = ?", world.user_id);
  advance(10.1);
  expect(await statusOf(anybody, url)).toBe(401);
});

test("a stream token ends within 10 s of its maker's access to the prediction", async () => {
  stopClock();
  const organization = await newOrganization();
  const person = await organization.join("developer");
  const { url } = await issue(person.client, await organization.waiting());
  expect(await statusOf(anybody, url)).toBe(200);
  await setRole(organization, person, "member");
  advance(10.1);
  expect(await statusOf(anybody, url)).toBe(404);
});
